#pragma once
// `godwit run MODEL` without a prompt: a conversation, a line a turn.

#include <cstdio>

#include "base/clock.h"
#include "base/status.h"
#include "cli/interrupts.h"
#include "cli/loaded_engine.h"
#include "cli/options.h"

namespace godwit {

/// Reads lines from standard input, from a person (with editing and history) when it and standard
/// output are terminals, until its end or /exit. Without a chat template each line is continued as
/// plain text, and nothing is remembered.
/// `interrupts` is null when an interrupt may end the program. Errors: what ends the conversation;
/// a turn that fails from a person is reported and the conversation goes on.
Status run_chat(const LoadedEngine& loaded, const RunCommand& command, const Clock& clock,
                Interrupts* interrupts, std::FILE* out);

}  // namespace godwit
