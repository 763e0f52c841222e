#pragma once
// A model named on the command line, found on this machine or on a hub.

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/options.h"

namespace godwit {

/// Replaces the model and the tokenizer of `options` by paths on this machine: what is no path but
/// the name of a model on a hub is downloaded, as far as the cache does not have it. Progress goes
/// to standard error; SIGINT, when nobody handles it, leaves what can be gone on with. Errors:
/// those of fetch_model(); what is neither a path nor a hub's name is left as it is.
Result<ModelOptions> locate_model(ModelOptions options);

/// The same for a command that needs no weights: the path of a folder or file.
Result<std::string> locate_text(const std::string& name, const HubFlags& flags);

/// What is on this machine of a model, without downloading its weights.
struct ModelOutline {
  std::string path;  ///< Folder or file; empty for a .gguf file that the cache does not have.
  std::optional<std::uint64_t> absent_bytes;  ///< Size of weights that the cache does not have.
};

Result<ModelOutline> locate_outline(const ModelOptions& options);

}  // namespace godwit
