#pragma once
// Whether bytes are those that an ETag names: the SHA-256 of a file kept by Git LFS, or the SHA-1
// of a git blob (of "blob <size>\0" and the bytes).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct evp_md_ctx_st;

namespace godwit {

class BlobHash {
 public:
  /// Chooses by the ETag's form; of other forms nothing can be known, and every byte passes.
  static Result<BlobHash> create(const std::string& etag, std::uint64_t size);

  /// Forgets all bytes.
  Status reset();
  Status update(std::string_view bytes);
  /// The hash of all bytes in hexadecimal; the ETag itself when it is of another form.
  Result<std::string> finish();
  /// "SHA-256", "git SHA-1" or "", for messages.
  [[nodiscard]] std::string_view name() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  BlobHash(std::string etag, std::uint64_t size);

  std::string etag_;
  std::uint64_t size_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;  ///< Null for another form.
};

}  // namespace godwit
