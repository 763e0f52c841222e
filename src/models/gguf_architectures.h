#pragma once
// The GGUF architectures that godwit reads: what each one's metadata means in Hugging Face's terms.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "weights/gguf.h"

namespace godwit {

/// The metadata of one architecture: its keys all begin with its name.
class GgufFields {
 public:
  GgufFields(const GgufFile& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}

  [[nodiscard]] const GgufFile& file() const { return file_; }
  /// The whole key, for messages.
  [[nodiscard]] std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  [[nodiscard]] bool contains(std::string_view name) const { return file_.contains(key(name)); }
  [[nodiscard]] Result<std::int64_t> integer(std::string_view name) const {
    return file_.get_integer(key(name));
  }
  [[nodiscard]] Result<double> number(std::string_view name) const {
    return file_.get_number(key(name));
  }
  [[nodiscard]] Result<double> number(std::string_view name, double absent) const {
    return contains(name) ? number(name) : Result<double>(absent);
  }
  /// An error that says what godwit lacks, naming the file and the key.
  [[nodiscard]] Status lacks(std::string_view name, std::string_view what) const;

 private:
  const GgufFile& file_;
  std::string prefix_;
};

/// How llama.cpp's converter writes one of its architectures.
struct GgufArchitecture {
  std::string_view name;          ///< general.architecture.
  std::string_view model;         ///< Hugging Face's class.
  bool rope_interleave = false;   ///< q and k are reordered so that rotary pairs are adjacent.
  bool partial_rotation = false;  ///< rope.dimension_count may be less than a head.
  bool layer_norm = false;        ///< Layer norms instead of root mean square norms.
  bool two_ropes = false;         ///< Layers with a window have rope.freq_base_swa.
  const char* activation = "silu";
  /// Adds to the config what this architecture has of its own.
  Status (*complete)(const GgufFields& fields, Json& config) = nullptr;
};

std::span<const GgufArchitecture> gguf_architectures();

}  // namespace godwit
