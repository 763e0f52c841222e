#pragma once
// Fewer, larger events: stream_interval tokens of an output at a time.

#include <cstdint>
#include <memory>

#include "server/generation.h"

namespace godwit {

/// Hands on an output's first delta at once, then what has gathered when it holds `interval` tokens
/// or the output ends. Returns `answer` itself for an interval of 1.
std::unique_ptr<Answer> pace_answer(std::unique_ptr<Answer> answer, std::int32_t interval);

}  // namespace godwit
