#pragma once
// One answer of a loaded model, written as it comes.

#include <cstdio>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "cli/interrupts.h"
#include "cli/loaded_engine.h"
#include "cli/options.h"
#include "request/request.h"

namespace godwit {

struct TerminalAnswer {
  std::string text;
  FinishReason reason = FinishReason::kStop;  ///< kAbort after an interrupt.
};

/// Answers `prompt` and writes the text to `out` as it comes, with a line's end after it.
/// `interrupts` may be null; one that comes ends the answer. Errors: the engine's, and output that
/// cannot be written.
Result<TerminalAnswer> write_answer(const LoadedEngine& loaded, const RunCommand& command,
                                    std::vector<TokenId> prompt, Interrupts* interrupts,
                                    std::FILE* out);

}  // namespace godwit
