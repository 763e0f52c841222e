#include "cli/options.h"

#include <charconv>

namespace godwit {
namespace {

/// A positive decimal number followed by `suffix`; nothing when the text is something else.
std::optional<std::int64_t> parse_number(std::string_view text, std::string_view& suffix) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) {
    return std::nullopt;
  }
  suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<std::int64_t> multiply(std::int64_t value, std::int64_t factor) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(value, factor, &product)) {
    return std::nullopt;
  }
  return product;
}

}  // namespace

Result<std::optional<std::int64_t>> parse_length(const std::string& text) {
  if (text == "auto" || text == "-1" || text.empty()) {
    return std::optional<std::int64_t>();
  }
  std::string_view suffix;
  if (const auto number = parse_number(text, suffix)) {
    // As vLLM reads it: k is 1000, K is 1024.
    const std::int64_t factor = suffix == "k" ? 1000 : suffix == "K" ? 1024 : 1;
    const auto length = multiply(*number, factor);
    if (length && (suffix.empty() || factor != 1)) {
      return length;
    }
  }
  return invalid_argument("--max-model-len is " + text, "give a number of tokens, 8k, 8K or auto");
}

Result<std::optional<std::size_t>> parse_bytes(const std::string& text) {
  if (text.empty() || text == "auto") {
    return std::optional<std::size_t>();
  }
  std::string_view suffix;
  if (const auto number = parse_number(text, suffix)) {
    std::optional<std::int64_t> factor;
    if (suffix.empty()) {
      factor = 1;
    } else if (suffix == "K" || suffix == "KiB") {
      factor = std::int64_t{1} << 10;
    } else if (suffix == "M" || suffix == "MiB") {
      factor = std::int64_t{1} << 20;
    } else if (suffix == "G" || suffix == "GiB") {
      factor = std::int64_t{1} << 30;
    }
    const auto bytes = factor ? multiply(*number, *factor) : std::nullopt;
    if (bytes) {
      return std::optional(static_cast<std::size_t>(*bytes));
    }
  }
  return invalid_argument("--kv-cache-memory-bytes is " + text,
                          "give a number of bytes, or one with K, M or G");
}

Result<RunnerOptions> make_runner_options(const ModelOptions& options) {
  RunnerOptions runner;
  runner.device = options.device;
  runner.device_options = {.threads = options.threads, .isa = options.isa};
  if (options.dtype == "float32" || options.dtype == "float") {
    runner.precision = Precision::kExact;
  } else if (options.dtype == "auto" || options.dtype == "bfloat16") {
    runner.precision = Precision::kFast;
  } else {
    return invalid_argument("--dtype is " + options.dtype, "give auto, bfloat16 or float32");
  }
  const bool exact = runner.precision == Precision::kExact;
  if (options.kv_cache_dtype == "auto") {
    runner.memory.kv_dtype = exact ? DType::kF32 : DType::kBF16;
  } else if (options.kv_cache_dtype == "float32") {
    runner.memory.kv_dtype = DType::kF32;
  } else if (options.kv_cache_dtype == "bfloat16") {
    runner.memory.kv_dtype = DType::kBF16;
  } else {
    return invalid_argument("--kv-cache-dtype is " + options.kv_cache_dtype,
                            "give auto, bfloat16 or float32");
  }
  if (options.max_num_seqs < 1 || options.max_num_seqs > 65536) {
    return invalid_argument("--max-num-seqs is " + std::to_string(options.max_num_seqs),
                            "give 1 to 65536");
  }
  runner.memory.max_model_len = TRY(parse_length(options.max_model_len));
  runner.memory.kv_cache_bytes = TRY(parse_bytes(options.kv_cache_memory_bytes));
  runner.memory.block_size = options.block_size;
  runner.memory.max_num_seqs = options.max_num_seqs;
  runner.memory.max_num_batched_tokens = options.engine.max_num_batched_tokens;
  return runner;
}

}  // namespace godwit
