#include "cli/bench_flags.h"

#include <CLI/CLI.hpp>
#include <string>

namespace godwit {
namespace {

using AddModelFlags = std::function<void(CLI::App&, ModelOptions&)>;
using Action = std::function<Status()>;

void add_model(CLI::App& app, ModelOptions& model, const AddModelFlags& add_model_flags) {
  app.add_option("MODEL,--model", model.model, "Folder, .gguf file or ORG/NAME")->required();
  add_model_flags(app, model);
}

void add_prompts(CLI::App& app, RandomPrompts& prompts, const std::string& input_flag,
                 const std::string& output_flag) {
  app.add_option("--num-prompts", prompts.count, "How many requests")->capture_default_str();
  app.add_option(input_flag, prompts.input_len, "Tokens of a prompt")->capture_default_str();
  app.add_option(output_flag, prompts.output_len, "Tokens of an answer")->capture_default_str();
  app.add_option("--random-prefix-len", prompts.prefix_len, "Tokens that all prompts begin with")
      ->capture_default_str();
  app.add_option("--random-range-ratio", prompts.range_ratio,
                 "Lengths differ by up to this part of them")
      ->capture_default_str();
  app.add_option("--dataset-name", "random: prompts of random tokens")
      ->check(CLI::IsMember({"random"}));
}

void add_output_json(CLI::App& app, std::string& path) {
  app.add_option("--output-json", path, "File for the result");
}

void add_throughput(CLI::App& bench, BenchThroughputCommand& command,
                    const AddModelFlags& add_model_flags, Action& action) {
  CLI::App* app = bench.add_subcommand("throughput", "All requests at once, without a server");
  add_model(*app, command.model, add_model_flags);
  add_prompts(*app, command.prompts, "--random-input-len,--input-len",
              "--random-output-len,--output-len");
  app->add_flag("!--disable-detokenize", command.detokenize, "Leave the answers as token ids");
  add_output_json(*app, command.output_json);
  app->callback([&command, &action] {
    command.prompts.seed = command.model.engine.seed;
    action = [&command] { return bench_throughput(command, stdout); };
  });
}

void add_latency(CLI::App& bench, BenchLatencyCommand& command,
                 const AddModelFlags& add_model_flags, Action& action) {
  CLI::App* app = bench.add_subcommand("latency", "One batch again and again, without a server");
  add_model(*app, command.model, add_model_flags);
  app->add_option("--input-len", command.input_len, "Tokens of a prompt")->capture_default_str();
  app->add_option("--output-len", command.output_len, "Tokens of an answer")->capture_default_str();
  app->add_option("--batch-size", command.batch_size, "Prompts at once")->capture_default_str();
  app->add_option("--num-iters-warmup", command.num_iters_warmup, "Rounds before the measured ones")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--num-iters", command.num_iters, "Measured rounds")->capture_default_str();
  add_output_json(*app, command.output_json);
  app->callback(
      [&command, &action] { action = [&command] { return bench_latency(command, stdout); }; });
}

void add_startup(CLI::App& bench, BenchStartupCommand& command,
                 const AddModelFlags& add_model_flags, Action& action) {
  CLI::App* app = bench.add_subcommand("startup", "From a path to an engine that takes requests");
  add_model(*app, command.model, add_model_flags);
  app->add_option("--num-iters-cold", command.num_iters_cold,
                  "Starts with the model's files dropped from the page cache")
      ->capture_default_str();
  app->add_option("--num-iters-warmup", command.num_iters_warmup, "Starts before the warm ones")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--num-iters-warm", command.num_iters_warm, "Starts with the files in memory")
      ->capture_default_str();
  add_output_json(*app, command.output_json);
  app->callback(
      [&command, &action] { action = [&command] { return bench_startup(command, stdout); }; });
}

void add_target(CLI::App& app, BenchServeCommand& command) {
  app.add_option("--base-url", command.base_url, "http://HOST:PORT, instead of --host and --port");
  app.add_option("--host", command.host, "Where the server listens")->capture_default_str();
  app.add_option("--port", command.port, "Where the server listens")->capture_default_str();
  app.add_option("--backend,--endpoint-type", command.backend,
                 "openai and vllm send completions, openai-chat chats")
      ->check(CLI::IsMember({"openai", "vllm", "openai-chat"}))
      ->capture_default_str();
  app.add_option("--endpoint", command.endpoint, "Path of the API; default: the backend's");
  app.add_option("--model", command.model, "Name of the model; default: the server's first");
  app.add_option("--api-key", command.api_key, "Key for the server")->envname("OPENAI_API_KEY");
  app.add_option("--header", command.headers, "NAME=VALUE, sent with every request")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_report(CLI::App& app, BenchServeCommand& command) {
  app.add_option("--percentile-metrics", command.metrics, "Which metrics, of ttft,tpot,itl,e2el")
      ->capture_default_str();
  app.add_option("--metric-percentiles", command.percentiles, "Which percentiles, as in 50,99")
      ->capture_default_str();
  app.add_option("--goodput", command.goals,
                 "METRIC:MILLISECONDS that a good request keeps to; metrics: ttft, tpot, e2el")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--save-result", command.save_result, "Write the result as JSON");
  app.add_flag("--save-detailed", command.report.detailed,
               "Put every request's numbers and text into it");
  app.add_option("--result-dir", command.result_dir, "Folder for the result");
  app.add_option("--result-filename", command.result_filename, "Name of its file");
  app.add_option("--metadata", command.metadata, "KEY=VALUE for the result")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--disable-tqdm", command.quiet, "Show no progress");
}

void add_serve_measure(CLI::App& bench, BenchServeCommand& command, Action& action) {
  CLI::App* app = bench.add_subcommand("serve", "A running server with an OpenAI API");
  add_target(*app, command);
  add_prompts(*app, command.prompts, "--random-input-len,--input-len",
              "--random-output-len,--output-len");
  app->add_option("--seed", command.prompts.seed, "Of prompts and arrival times")
      ->capture_default_str();
  app->add_option("--vocab-size", command.vocab_size,
                  "Prompts are any ids below it; default: the tokens of a text")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--num-warmups", command.warmups, "Requests before the measurement")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--temperature", command.temperature, "0 takes the most likely token")
      ->capture_default_str();
  app->add_flag("--ignore-eos", command.ignore_eos, "Every answer has its full length");
  app->add_option("--request-rate", command.request_rate, "Requests a second; inf: all at once")
      ->capture_default_str();
  app->add_option("--burstiness", command.load.burstiness,
                  "1: a Poisson process; less: bursts; more: steadier")
      ->capture_default_str();
  app->add_option("--max-concurrency", command.load.max_concurrency, "Most requests at once")
      ->check(CLI::PositiveNumber);
  add_report(*app, command);
  app->callback(
      [&command, &action] { action = [&command] { return bench_serve(command, stdout); }; });
}

}  // namespace

void add_bench(CLI::App& app, BenchCommands& commands, const AddModelFlags& add_model_flags,
               Action& action) {
  CLI::App* bench = app.add_subcommand("bench", "Measure speed, as vLLM's bench does");
  bench->require_subcommand(1);
  add_throughput(*bench, commands.throughput, add_model_flags, action);
  add_latency(*bench, commands.latency, add_model_flags, action);
  add_startup(*bench, commands.startup, add_model_flags, action);
  add_serve_measure(*bench, commands.serve, action);
}

}  // namespace godwit
