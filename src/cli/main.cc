// The program's entry: reads the command line and calls the command.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/bench_flags.h"
#include "cli/command_tree.h"
#include "cli/completion.h"
#include "cli/doctor.h"
#include "cli/man_page.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/serve.h"
#include "cli/server_flags.h"
#include "cli/text_commands.h"
#include "cli/vllm_flags.h"

namespace godwit {
namespace {

using Action = std::function<Status()>;

constexpr int kUsageError = 2;

constexpr const char* kModelHelp =
    "Folder with a Hugging Face checkpoint, .gguf file, or model of a hub: ORG/NAME, "
    "ORG/NAME:FILE.gguf, ORG/NAME:Q4_K_M";

void add_hub_flags(CLI::App& app, HubFlags& flags) {
  app.add_option("--revision", flags.revision, "Branch, tag or commit on the hub; default: main");
  app.add_option("--download-dir", flags.download_dir,
                 "Cache of downloads; default: HF_HUB_CACHE, or huggingface_hub's own");
}

void add_model_flags(CLI::App& app, ModelOptions& options) {
  add_hub_flags(app, options.hub);
  app.add_option("--tokenizer", options.tokenizer, "Folder, file or ORG/NAME of the tokenizer");
  app.add_flag("--skip-tokenizer-init", options.skip_tokenizer_init,
               "Work on token ids alone: prompts and answers are ids");
  app.add_option("--chat-template", options.chat_template,
                 "File with a Jinja template, or the template");
  app.add_option("--generation-config", options.generation_config,
                 "Sampling defaults: auto (the model's generation_config.json), vllm (none), or a "
                 "folder with such a file")
      ->capture_default_str();
  app.add_option("--override-generation-config", options.override_generation_config,
                 "JSON object of sampling defaults that go over those");
  app.add_option("--dtype", options.dtype,
                 "auto and bfloat16: fast arithmetic; float32: exact arithmetic")
      ->capture_default_str();
  app.add_option("--kv-cache-dtype", options.kv_cache_dtype,
                 "auto (as --dtype), bfloat16 or float32")
      ->capture_default_str();
  app.add_option(
         "--max-model-len", options.max_model_len,
         "Longest prompt and output together, in tokens: a number, 8k (8000), 8K (8192) or auto")
      ->capture_default_str();
  app.add_option(
      "--kv-cache-memory-bytes", options.kv_cache_memory_bytes,
      "Memory for keys and values: a number of bytes, or with K, M, G; default: half of what is "
      "free, at most 4G");
  app.add_option("--block-size", options.block_size, "Tokens in a page of the cache")
      ->capture_default_str();
  app.add_option("--max-num-seqs", options.max_num_seqs, "Sequences that run at once")
      ->capture_default_str();
  app.add_option("--max-num-batched-tokens", options.engine.max_num_batched_tokens,
                 "Tokens that a step may compute")
      ->capture_default_str();
  app.add_option("--seed", options.engine.seed, "Source of seeds for requests that bring none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--device", options.device, "Where to compute: cpu")->capture_default_str();
  app.add_option("--threads", options.threads, "Compute threads; 0 = one a core")
      ->capture_default_str();
  app.add_option(
      "--isa", options.isa,
      "Kernels: amx, avx512bf16, avx512, avx2, generic, ref; default: the best there is");
}

/// `--name` and `--no-name`, as vLLM spells switches that are on by default.
void add_switch(CLI::App& app, const std::string& name, bool& value, const std::string& what) {
  app.add_flag_callback("--" + name, [&value] { value = true; }, what + " (default)");
  app.add_flag_callback("--no-" + name, [&value] { value = false; }, "Do not");
}

void add_serve(CLI::App& app, ServeOptions& options, Action& action) {
  CLI::App* serve = app.add_subcommand("serve", "Serve a model through the OpenAI API");
  serve->add_option("MODEL,--model", options.model.model, kModelHelp)->required();
  add_model_flags(*serve, options.model);
  EngineOptions& engine = options.model.engine;
  serve->add_option("--served-model-name", options.served_model_names, "Names in the API");
  add_server_flags(*serve, options);
  add_switch(*serve, "enable-prefix-caching", engine.enable_prefix_caching,
             "Reuse what is cached of a prompt");
  add_switch(*serve, "enable-chunked-prefill", engine.enable_chunked_prefill,
             "Spread long prompts over steps");
  serve
      ->add_option("--long-prefill-token-threshold", engine.long_prefill_token_threshold,
                   "Longest part of one prompt in a step; 0 = no limit")
      ->capture_default_str();
  serve
      ->add_option_function<std::string>(
          "--scheduling-policy",
          [&engine](const std::string& policy) {
            engine.schedule_by_priority = policy == "priority";
          },
          "fcfs or priority")
      ->check(CLI::IsMember({"fcfs", "priority"}));
  serve->add_option("--max-logprobs", engine.max_logprobs, "Largest logprobs of a request")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  serve
      ->add_option("--shutdown-timeout", options.shutdown_timeout,
                   "Seconds that running requests get to finish")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  // Accepted because vLLM's users write them: they say what godwit does anyway.
  for (const char* ranks :
       {"--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"}) {
    serve->add_option(ranks, "1: godwit runs one rank");
  }
  serve->add_flag_function(
      "--trust-remote-code", [](std::int64_t) {}, "No effect: no code of a model is ever run");
  serve->callback([&options, &action] { action = [&options] { return run_serve(options); }; });
}

void add_sampling_flags(CLI::App& app, SamplingFlags& flags) {
  app.add_option("--temperature", flags.temperature, "0 takes the most likely token");
  app.add_option("--top-p", flags.top_p, "Draw from the likeliest tokens of this probability");
  app.add_option("--top-k", flags.top_k, "Draw from so many tokens; 0: all");
  app.add_option("--min-p", flags.min_p, "Least probability, as a part of the likeliest token's");
  app.add_option("--repetition-penalty", flags.repetition_penalty, "1: none");
  app.add_option("--presence-penalty", flags.presence_penalty, "0: none");
  app.add_option("--frequency-penalty", flags.frequency_penalty, "0: none");
  app.add_option("--sampling-seed", flags.seed, "Seed of this answer");
  app.add_option("--stop", flags.stop, "Text that ends an answer")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_run(CLI::App& app, RunCommand& command, Action& action) {
  CLI::App* run = app.add_subcommand(
      "run", "TerminalAnswer one prompt on the terminal, or chat when none is given");
  run->add_option("MODEL", command.model.model, kModelHelp)->required();
  run->add_option("PROMPT", command.prompt, "What to ask; without it: a chat, a line a turn");
  add_model_flags(*run, command.model);
  run->add_option("--system", command.system, "System message");
  run->add_option("--max-tokens", command.max_tokens, "Longest answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_sampling_flags(*run, command.sampling);
  run->add_flag("--raw", command.raw, "Give the prompt as it is, without the chat template");
  run->callback(
      [&command, &action] { action = [&command] { return run_prompt(command, stdout); }; });
}

void add_doctor(CLI::App& app, DoctorCommand& command, Action& action) {
  CLI::App* doctor =
      app.add_subcommand("doctor", "Report on this machine and on what a model needs");
  doctor->add_option("MODEL", command.model.model, kModelHelp);
  add_model_flags(*doctor, command.model);
  doctor->callback(
      [&command, &action] { action = [&command] { return run_doctor(command, stdout); }; });
}

void add_text_commands(CLI::App& app, TokenizeCommand& tokenize, RenderArguments& render,
                       Action& action) {
  CLI::App* encode =
      app.add_subcommand("tokenize", "JSON lines {\"text\"} on standard input to lines {\"ids\"}");
  encode->add_option("PATH", tokenize.path, "Folder, tokenizer file, .gguf or ORG/NAME")
      ->required();
  add_hub_flags(*encode, tokenize.hub);
  encode->add_flag("--special,!--no-special", tokenize.encode.add_special_tokens,
                   "Add the tokenizer's own tokens (default)");
  encode->add_flag("--split-special", tokenize.encode.split_special_tokens,
                   "Treat the text of special tokens as plain text");
  encode->callback([&] { action = [&] { return tokenize_command(tokenize); }; });

  CLI::App* decode = app.add_subcommand(
      "detokenize", "JSON lines {\"ids\"} on standard input to lines {\"text\"}");
  decode->add_option("PATH", tokenize.path, "Folder, tokenizer file, .gguf or ORG/NAME")
      ->required();
  add_hub_flags(*decode, tokenize.hub);
  decode->add_flag("--skip-special", tokenize.decode.skip_special_tokens,
                   "Leave special tokens out");
  decode->callback([&] { action = [&] { return detokenize_command(tokenize); }; });

  CLI::App* show = app.add_subcommand("render",
                                      "JSON lines {\"messages\", \"tools\", \"documents\", "
                                      "\"kwargs\"} on standard input to {\"text\"}");
  show->add_option("PATH", render.path,
                   "Template, tokenizer_config.json, folder, .gguf or ORG/NAME")
      ->required();
  add_hub_flags(*show, render.hub);
  show->add_option("--var", render.variables, "NAME=VALUE for the template");
  show->add_option("--now", render.now, "The time that templates see: \"2025-03-14 15:09:26\"");
  show->callback([&] { action = [&] { return render_command(render); }; });
}

void add_descriptions(CLI::App& app, std::string& shell, Action& action) {
  CLI::App* completion =
      app.add_subcommand("completion", "Print a script that makes a shell complete this program");
  completion->add_option("SHELL", shell, "Which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, &shell, &action] {
    action = [&app, &shell]() -> Status {
      std::fputs(TRY(write_completion(describe_command(app), shell)).c_str(), stdout);
      return {};
    };
  });
  CLI::App* man = app.add_subcommand("man", "Print the manual page");
  man->callback([&app, &action] {
    action = [&app]() -> Status {
      std::fputs(write_man_page(describe_command(app), GODWIT_VERSION).c_str(), stdout);
      return {};
    };
  });
}

log::Level parse_level(const std::string& name) {
  if (name == "debug" || name == "trace") {
    return log::Level::kDebug;
  }
  if (name == "warning") {
    return log::Level::kWarning;
  }
  return name == "error" || name == "critical" ? log::Level::kError : log::Level::kInfo;
}

int run_program(int argc, char** argv) {
  CLI::App app("godwit serves large language models", "godwit");
  // As in vLLM, a flag given twice counts the last time.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", GODWIT_VERSION);
  app.require_subcommand(1);
  ServeOptions serve;
  RunCommand run;
  DoctorCommand doctor;
  TokenizeCommand tokenize;
  RenderArguments render;
  BenchCommands bench;
  std::string shell;
  Action action;
  add_serve(app, serve, action);
  add_run(app, run, action);
  add_doctor(app, doctor, action);
  add_bench(app, bench, add_model_flags, action);
  add_text_commands(app, tokenize, render, action);
  add_descriptions(app, shell, action);

  std::vector<std::string> arguments =
      normalize_flags(std::vector<std::string>(argv + 1, argv + argc));
  if (const Status status = refuse_unsupported_flags(arguments); !status.ok()) {
    std::fprintf(stderr, "godwit: %s\n", status.message().c_str());
    return kUsageError;
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first.
  try {
    app.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    // CLI11 lists what is left over last first.
    std::fprintf(stderr, "godwit: unknown argument %s; see godwit --help\n",
                 app.remaining(true).back().c_str());
    return kUsageError;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  log::set_up(parse_level(serve.log_level),
              serve.log_format == "json" ? log::Format::kJson : log::Format::kText);
  const Status status = action();
  std::fflush(stdout);
  if (!status.ok()) {
    std::fprintf(stderr, "godwit: %s\n", status.message().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace godwit

int main(int argc, char** argv) {
  try {
    return godwit::run_program(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "godwit: %s\n", error.what());
    return 1;
  }
}
