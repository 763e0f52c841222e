#pragma once
// Reader of the GGUF format, versions 2 and 3, little endian: metadata (key, type, value), tensor
// descriptions, then aligned data.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "weights/stored_tensor.h"

namespace godwit {

/// The types of metadata values, numbered as in the file.
enum class GgufType : std::uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

/// One metadata entry; its value was checked to lie inside the file and is decoded when asked for.
struct GgufMetadata {
  std::string_view key;
  GgufType type = GgufType::kUint8;
  GgufType element = GgufType::kUint8;  ///< Of an array.
  std::uint64_t count = 0;              ///< Elements of an array.
  std::span<const std::byte> value;  ///< Payload: a string without its length, an array's elements.
};

/// A GGUF file. Opening touches metadata and tensor descriptions only. Copies share the mapping,
/// and strings and tensors are views of it.
///
/// Errors: every typed getter gives kNotFound when the key is absent and kInvalidArgument when its
/// value is of another type, naming file and key.
class GgufFile {
 public:
  /// Errors: kInvalidArgument, naming file and key or tensor; those of MappedFile::open.
  static Result<GgufFile> open(const std::filesystem::path& path);
  /// Reads `bytes`, which must outlive the result. `name` stands for the file in errors.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, std::string_view name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint32_t version() const { return version_; }

  /// In the order of the file.
  [[nodiscard]] const std::vector<GgufMetadata>& metadata() const { return metadata_; }
  [[nodiscard]] bool contains(std::string_view key) const { return find_metadata(key) != nullptr; }

  [[nodiscard]] Result<std::string_view> get_string(std::string_view key) const;
  /// An integer of any width that fits 63 bits.
  [[nodiscard]] Result<std::int64_t> get_integer(std::string_view key) const;
  /// A float of either width, or an integer.
  [[nodiscard]] Result<double> get_number(std::string_view key) const;
  [[nodiscard]] Result<bool> get_bool(std::string_view key) const;
  [[nodiscard]] Result<std::vector<std::string_view>> get_strings(std::string_view key) const;
  /// An array of integers of any width, each fitting 63 bits.
  [[nodiscard]] Result<std::vector<std::int64_t>> get_integers(std::string_view key) const;
  [[nodiscard]] Result<std::vector<bool>> get_bools(std::string_view key) const;
  /// An array of floats of either width.
  [[nodiscard]] Result<std::vector<float>> get_floats(std::string_view key) const;

  /// In the order of the file; shapes are row-major (the file stores them reversed).
  [[nodiscard]] const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Null pointer when there is none of that name.
  [[nodiscard]] const StoredTensor* find(std::string_view name) const;
  /// Adds the tensors of a further part of the model, StoredTensor::file being `index`. The caller
  /// keeps that part's mapping.
  void add_tensors(const GgufFile& part, std::size_t index);
  /// The mapping; null when made by parse().
  [[nodiscard]] const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }

 private:
  friend class GgufParser;
  GgufFile() = default;

  [[nodiscard]] const GgufMetadata* find_metadata(std::string_view key) const;
  [[nodiscard]] Result<const GgufMetadata*> require(std::string_view key) const;
  [[nodiscard]] Result<const GgufMetadata*> require_array(std::string_view key,
                                                          std::string_view wanted) const;
  [[nodiscard]] Status wrong_type(const GgufMetadata& entry, std::string_view wanted) const;

  std::string name_;
  std::uint32_t version_ = 0;
  std::shared_ptr<const MappedFile> mapping_;
  std::vector<GgufMetadata> metadata_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace godwit
