#pragma once
// `godwit serve MODEL`: the API server.

#include "base/status.h"
#include "cli/options.h"

namespace godwit {

/// Serves until SIGINT or SIGTERM, then lets running requests finish. A second signal stops at
/// once.
Status run_serve(const ServeOptions& options);

}  // namespace godwit
