#pragma once
// What the command line says, as plain values. Names and defaults are vLLM's where they mean the
// same.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "runner/model_runner.h"
#include "server/tls_options.h"

namespace godwit {

/// How what is named on a hub is found there.
struct HubFlags {
  std::string revision;      ///< A branch, tag or commit; empty = main, or what the name says.
  std::string download_dir;  ///< The cache; empty = as the environment says.
};

/// How a model is loaded and run; shared by `serve` and `run`.
struct ModelOptions {
  std::string model;      ///< A folder, a .gguf file or ORG/NAME on a hub.
  std::string tokenizer;  ///< The same, or a file; empty = the model's own.
  HubFlags hub;
  bool skip_tokenizer_init = false;
  std::string chat_template;  ///< A file, or the template itself; empty = the model's own.
  /// Sampling defaults. "auto": of the model's generation_config.json; "vllm": none; else the
  /// folder of another one.
  std::string generation_config = "auto";
  std::string override_generation_config;  ///< A JSON object that goes over it; may be empty.
  std::string dtype = "auto";              ///< auto, bfloat16, float32
  std::string kv_cache_dtype = "auto";
  std::string max_model_len = "auto";  ///< A number, with k or K for thousands; auto or -1.
  std::string kv_cache_memory_bytes;   ///< A number, with K, M, G for powers of 1024.
  std::string device = "cpu";
  std::string isa;
  int threads = 0;
  std::int64_t block_size = 16;
  std::int64_t max_num_seqs = 256;
  EngineOptions engine;
};

struct ServeOptions {
  ModelOptions model;
  std::string host = "0.0.0.0";
  std::uint16_t port = 8000;
  std::vector<std::string> served_model_names;
  std::vector<std::string> api_keys;
  std::string unix_socket;  ///< Instead of host and port; empty = none.
  TlsOptions tls;
  std::string root_path;
  std::string allowed_origins = R"(["*"])";  ///< A JSON list, as the next two.
  std::string allowed_methods = R"(["*"])";
  std::string allowed_headers = R"(["*"])";
  bool allow_credentials = false;
  bool request_id_headers = false;
  std::int64_t shutdown_timeout = 30;  ///< Seconds that running requests get to finish.
  std::string log_level = "info";
  std::string log_format = "text";  ///< text, json
  bool access_log = true;
  std::string quiet_paths;  ///< Left out of the access log; separated by commas.
  bool log_requests = false;
  bool log_stats = true;
};

/// What the command line says of sampling; the rest is the model's defaults.
struct SamplingFlags {
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<std::int32_t> top_k;
  std::optional<float> min_p;
  std::optional<float> repetition_penalty;
  std::optional<float> presence_penalty;
  std::optional<float> frequency_penalty;
  std::optional<std::int64_t> seed;
  std::vector<std::string> stop;
};

struct RunCommand {
  ModelOptions model;
  std::string prompt;  ///< Empty: a conversation, read from standard input.
  std::string system;  ///< The system message; empty = none.
  std::int64_t max_tokens = 512;
  SamplingFlags sampling;
  bool raw = false;  ///< Give the prompt to the model as it is, without the chat template.
};

struct DoctorCommand {
  ModelOptions model;  ///< Its model is empty for a report on the machine alone.
};

/// Options of the runner and of the engine. Errors: kInvalidArgument naming the flag.
Result<RunnerOptions> make_runner_options(const ModelOptions& options);

/// "8192", "8k", "32K". Errors: kInvalidArgument naming the flag.
Result<std::optional<std::int64_t>> parse_length(const std::string& text);
/// "1073741824", "512M", "4G". Errors: kInvalidArgument naming the flag.
Result<std::optional<std::size_t>> parse_bytes(const std::string& text);

}  // namespace godwit
