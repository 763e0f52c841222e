#pragma once
// The flags of `godwit serve` about its edges: where it listens, TLS, who may ask, and what it
// logs.

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/options.h"
#include "server/server.h"

namespace CLI {
class App;
}

namespace godwit {

/// `options` must outlive the parse.
void add_server_flags(CLI::App& app, ServeOptions& options);

/// What those flags say, as the server takes it; the model and the version are left to the caller.
/// Errors: kInvalidArgument naming the flag.
Result<ServerOptions> make_server_options(const ServeOptions& options);

/// A list as vLLM's users write it: a JSON array of strings. Errors: kInvalidArgument naming
/// `flag`.
Result<std::vector<std::string>> parse_string_list(const std::string& flag,
                                                   const std::string& text);

/// "/health, /metrics" to its parts.
std::vector<std::string> split_list(const std::string& text);

}  // namespace godwit
