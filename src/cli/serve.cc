#include "cli/serve.h"

#include <chrono>
#include <csignal>
#include <optional>
#include <pthread.h>
#include <thread>

#include <fmt/core.h>

#include "base/log.h"
#include "cli/loaded_engine.h"
#include "cli/model_source.h"
#include "cli/server_flags.h"
#include "engine/throughput_log.h"
#include "server/server.h"

namespace godwit {
namespace {

/// As often as vLLM.
constexpr std::chrono::seconds kThroughputInterval{10};

/// SIGINT and SIGTERM, taken out of the normal flow: every thread started later has them blocked,
/// and one thread waits for them.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    // A client that leaves while we write must not end the process.
    std::signal(SIGPIPE, SIG_IGN);
  }
  void wait() const {
    int signal = 0;
    sigwait(&set_, &signal);
  }

 private:
  sigset_t set_{};
};

ServedModel describe_model(const ServeOptions& options, const LoadedEngine& loaded,
                           const Clock& clock) {
  ServedModel model;
  model.names = options.served_model_names;
  if (model.names.empty()) {
    model.names.push_back(options.model.model);
  }
  model.root = options.model.model;
  model.created = clock.unix_seconds();
  model.max_model_len = loaded.plan.max_model_len;
  model.tokenizer = loaded.text.tokenizer;
  model.chat_template = loaded.text.chat_template;
  model.defaults = loaded.text.defaults;
  model.max_output_tokens = loaded.text.max_output_tokens;
  return model;
}

std::string address_of(const ServeOptions& options, std::uint16_t port) {
  std::string host = options.host;
  if (host == "0.0.0.0" || host == "::") {
    host = "127.0.0.1";
  } else if (host.find(':') != std::string::npos) {
    host = "[" + host + "]";
  }
  const char* scheme = options.tls.certificate_file.empty() ? "http" : "https";
  return fmt::format("{}://{}:{}", scheme, host, port);
}

void print_ready(const ServeOptions& options, const ServedModel& model, std::uint16_t port) {
  if (!options.unix_socket.empty()) {
    fmt::print("\ngodwit serves {} at {}\n\n  Stop:  Ctrl-C\n\n", model.names.front(),
               options.unix_socket);
    std::fflush(stdout);
    return;
  }
  const std::string address = address_of(options, port);
  fmt::print("\ngodwit serves {} at {}\n\n", model.names.front(), address);
  if (model.chat_template != nullptr) {
    fmt::print("  Chat:  open {} in a browser\n", address);
    fmt::print(
        "  Try:   curl {}/v1/chat/completions -H 'Content-Type: application/json' \\\n"
        "           -d '{{\"messages\": [{{\"role\": \"user\", \"content\": \"Hello!\"}}]}}'\n",
        address);
  } else {
    fmt::print(
        "  Try:   curl {}/v1/completions -H 'Content-Type: application/json' -d '{{\"prompt\": "
        "{}}}'\n",
        address, model.tokenizer != nullptr ? "\"Hello\"" : "[1]");
  }
  fmt::print("  Stop:  Ctrl-C\n\n");
  std::fflush(stdout);
}

void log_plan(const LoadedEngine& loaded) {
  constexpr double kMiB = 1024.0 * 1024.0;
  const MemoryPlan& plan = loaded.plan;
  log::info("device: {}", loaded.device);
  log::info("memory: weights {:.1f} MiB, cache {:.1f} MiB for {} tokens; sequences up to {} tokens",
            static_cast<double>(plan.weight_bytes) / kMiB,
            static_cast<double>(plan.layout.bytes()) / kMiB, plan.kv_tokens(), plan.max_model_len);
}

}  // namespace

Status run_serve(const ServeOptions& options) {
  ServerOptions server_options = TRY(make_server_options(options));
  // Before the signals: a download may be stopped at any time.
  ModelOptions model_options = TRY(locate_model(options.model));
  const StopSignals signals;
  const SystemClock clock;
  model_options.engine.model_name =
      options.served_model_names.empty() ? options.model.model : options.served_model_names.front();
  const LoadedEngine loaded = TRY(load_engine(model_options, clock));
  log_plan(loaded);

  server_options.model = describe_model(options, loaded, clock);
  server_options.version = GODWIT_VERSION;
  const ServedModel model = server_options.model;
  const std::unique_ptr<Server> server =
      TRY(Server::create(std::move(server_options), *loaded.engine, clock));
  server->start();
  std::optional<ThroughputLog> throughput;
  if (options.log_stats) {
    throughput.emplace(loaded.engine->metrics(), clock, kThroughputInterval);
  }
  print_ready(options, model, server->port());

  signals.wait();
  log::info("stopping: running requests have {} s to finish; a second signal stops at once",
            options.shutdown_timeout);
  std::thread impatient([&] {
    signals.wait();
    server->stop_now();
  });
  loaded.engine->drain();
  server->stop(std::chrono::seconds(options.shutdown_timeout));
  // Wakes the thread that waits for a second signal; stop_now() does nothing any more.
  pthread_kill(impatient.native_handle(), SIGTERM);
  impatient.join();
  return {};
}

}  // namespace godwit
