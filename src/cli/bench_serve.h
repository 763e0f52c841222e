#pragma once
// `godwit bench serve`: measures a running OpenAI-compatible server, ours or another.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/load.h"
#include "bench/random_prompts.h"
#include "bench/serve_report.h"

namespace godwit {

struct BenchServeCommand {
  std::string base_url;  ///< Empty: http://host:port.
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;
  std::string backend = "openai";  ///< openai and vllm: completions; openai-chat: chat.
  std::string endpoint;            ///< Empty: that of the backend.
  std::string model;               ///< Empty: the first that the server lists.
  std::string api_key;
  std::vector<std::string> headers;  ///< NAME=VALUE
  RandomPrompts prompts;
  std::int64_t vocab_size = 0;  ///< 0: the tokens of a text that the server tokenizes.
  std::int64_t warmups = 0;     ///< Requests before the measurement.
  double temperature = 0.0;
  bool ignore_eos = false;
  std::string request_rate = "inf";
  LoadOptions load;
  ReportOptions report;
  std::string metrics = "ttft,tpot,itl,e2el";
  std::string percentiles = "99";
  std::vector<std::string> goals;  ///< "ttft:200"
  bool save_result = false;
  std::string result_dir;
  std::string result_filename;
  std::vector<std::string> metadata;  ///< KEY=VALUE, for the result file.
  bool quiet = false;                 ///< No progress on standard error.
};

/// Prints the table to `out`. Errors: also when no request succeeded.
Status bench_serve(BenchServeCommand command, std::FILE* out);

}  // namespace godwit
