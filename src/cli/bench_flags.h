#pragma once
// The command line of `godwit bench`.

#include <functional>

#include "base/status.h"
#include "cli/bench_engine.h"
#include "cli/bench_serve.h"
#include "cli/options.h"

namespace CLI {
class App;
}

namespace godwit {

struct BenchCommands {
  BenchThroughputCommand throughput;
  BenchLatencyCommand latency;
  BenchStartupCommand startup;
  BenchServeCommand serve;
};

/// Adds the command and its four measures. `add_model_flags` adds what `serve` and `run` share; the
/// command that is given sets `action`. All references must outlive the parse.
void add_bench(CLI::App& app, BenchCommands& commands,
               const std::function<void(CLI::App&, ModelOptions&)>& add_model_flags,
               std::function<Status()>& action);

}  // namespace godwit
