#include "cli/vllm_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace godwit {
namespace {

struct ShortForm {
  std::string_view from;
  std::string_view to;
};

constexpr auto kShortForms = std::to_array<ShortForm>({
    {"-tp", "--tensor-parallel-size"},
    {"-pp", "--pipeline-parallel-size"},
    {"-dp", "--data-parallel-size"},
    {"-dcp", "--decode-context-parallel-size"},
    {"-pcp", "--prefill-context-parallel-size"},
    {"-ep", "--enable-expert-parallel"},
    {"-asc", "--api-server-count"},
    {"-dpn", "--data-parallel-rank"},
    {"-dpr", "--data-parallel-start-rank"},
    {"-dpl", "--data-parallel-size-local"},
    {"-dpa", "--data-parallel-address"},
    {"-dpp", "--data-parallel-rpc-port"},
    {"-dpb", "--data-parallel-backend"},
    {"-q", "--quantization"},
    {"-O", "--optimization-level"},
});

// Flags of `vllm serve` for features that godwit does not have.
constexpr auto kUnsupported = std::to_array<std::string_view>({
    "--aggregate-engine-logging",
    "--all2all-backend",
    "--allowed-local-media-path",
    "--allowed-media-domains",
    "--api-server-count",
    "--async-scheduling",
    "--attention-backend",
    "--attention-config",
    "--calculate-kv-scales",
    "--chat-template-content-format",
    "--code-revision",
    "--collect-detailed-traces",
    "--compilation-config",
    "--config",
    "--config-format",
    "--cp-kv-cache-interleave-size",
    "--cpu-offload-gb",
    "--cudagraph-capture-sizes",
    "--data-parallel-address",
    "--data-parallel-backend",
    "--data-parallel-external-lb",
    "--data-parallel-hybrid-lb",
    "--data-parallel-rank",
    "--data-parallel-rpc-port",
    "--data-parallel-size-local",
    "--data-parallel-start-rank",
    "--dbo-decode-token-threshold",
    "--dbo-prefill-token-threshold",
    "--decode-context-parallel-size",
    "--default-chat-template-kwargs",
    "--default-mm-loras",
    "--disable-cascade-attn",
    "--disable-custom-all-reduce",
    "--disable-fastapi-docs",
    "--disable-hybrid-kv-cache-manager",
    "--disable-sliding-window",
    "--distributed-executor-backend",
    "--ec-transfer-config",
    "--enable-auto-tool-choice",
    "--enable-dbo",
    "--enable-elastic-ep",
    "--enable-eplb",
    "--enable-expert-parallel",
    "--enable-fault-tolerance",
    "--enable-lora",
    "--enable-log-outputs",
    "--enable-log-deltas",
    "--enable-mfu-metrics",
    "--enable-offline-docs",
    "--enable-prompt-embeds",
    "--enable-prompt-tokens-details",
    "--enable-force-include-usage",
    "--enable-server-load-tracking",
    "--enable-sleep-mode",
    "--enable-ssl-refresh",
    "--enforce-eager",
    "--eplb-config",
    "--exclude-tools-when-tool-choice-none",
    "--expert-placement-strategy",
    "--fully-sharded-loras",
    "--gpu-memory-utilization",
    "--guided-decoding-backend",
    "--h11-max-header-count",
    "--h11-max-incomplete-event-size",
    "--headless",
    "--hf-config-path",
    "--hf-overrides",
    "--hf-token",
    "--io-processor-plugin",
    "--kv-cache-metrics",
    "--kv-cache-metrics-sample",
    "--kv-events-config",
    "--kv-offloading-backend",
    "--kv-offloading-size",
    "--kv-transfer-config",
    "--language-model-only",
    "--limit-mm-per-prompt",
    "--log-config-file",
    "--logging-config",
    "--logits-processors",
    "--logprobs-mode",
    "--lora-dtype",
    "--lora-modules",
    "--mamba-block-size",
    "--mamba-cache-dtype",
    "--mamba-cache-mode",
    "--mamba-ssm-cache-dtype",
    "--master-addr",
    "--master-port",
    "--max-cpu-loras",
    "--max-log-len",
    "--max-long-partial-prefills",
    "--max-lora-rank",
    "--max-loras",
    "--max-num-partial-prefills",
    "--max-num-queued-tokens",
    "--max-parallel-loading-workers",
    "--media-io-kwargs",
    "--middleware",
    "--mm-encoder-tp-mode",
    "--mm-processor-cache-gb",
    "--mm-processor-kwargs",
    "--model-impl",
    "--moe-backend",
    "--nnodes",
    "--node-rank",
    "--optimization-level",
    "--otlp-traces-endpoint",
    "--pooler-config",
    "--prefill-context-parallel-size",
    "--prefix-caching-hash-algo",
    "--quantization",
    "--reasoning-parser",
    "--speculative-config",
    "--stream-interval",
    "--structured-outputs-config",
    "--tool-call-parser",
    "--enable-reasoning",
    "--load-format",
    "--swap-space",
    "--tokenizer-mode",
    "--tokenizer-revision",
    "--preemption-mode",
    "--num-gpu-blocks-override",
    "--max-seq-len-to-capture",
});

// Flags whose value may only say "one".
constexpr auto kOneRankOnly = std::to_array<std::string_view>(
    {"--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"});

std::string_view flag_name(std::string_view argument) {
  return argument.substr(0, argument.find('='));
}

}  // namespace

std::vector<std::string> normalize_flags(std::span<const std::string> arguments) {
  std::vector<std::string> normalized;
  for (const std::string& argument : arguments) {
    if (argument.size() < 2 || argument[0] != '-') {
      normalized.push_back(argument);
      continue;
    }
    const std::string_view name = flag_name(argument);
    const std::string_view rest = std::string_view(argument).substr(name.size());
    std::string spelled(name);
    for (const ShortForm& form : kShortForms) {
      if (name == form.from) {
        spelled = form.to;
      }
    }
    if (spelled.rfind("--", 0) == 0) {
      std::replace(spelled.begin(), spelled.end(), '_', '-');
    }
    normalized.push_back(spelled.append(rest));
  }
  return normalized;
}

Status refuse_unsupported_flags(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = flag_name(arguments[i]);
    if (std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end()) {
      return unimplemented("vLLM's " + std::string(name) + " is not supported by godwit",
                           "leave it out; `godwit serve --help` lists what is");
    }
    if (std::find(kOneRankOnly.begin(), kOneRankOnly.end(), name) != kOneRankOnly.end()) {
      const bool inline_value = arguments[i].size() > name.size();
      const std::string value = inline_value               ? arguments[i].substr(name.size() + 1)
                                : i + 1 < arguments.size() ? arguments[i + 1]
                                                           : std::string();
      if (value != "1") {
        return unimplemented(std::string(name) + " is " + value, "godwit runs one rank: give 1");
      }
    }
  }
  return {};
}

}  // namespace godwit
