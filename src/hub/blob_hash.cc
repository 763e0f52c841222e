#include "hub/blob_hash.h"

#include <algorithm>
#include <array>
#include <openssl/evp.h>
#include <utility>

namespace godwit {
namespace {

constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kSha1Digits = 40;

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

void BlobHash::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

BlobHash::BlobHash(std::string etag, std::uint64_t size) : etag_(std::move(etag)), size_(size) {}

Result<BlobHash> BlobHash::create(const std::string& etag, std::uint64_t size) {
  BlobHash hash(etag, size);
  if (!hash.name().empty()) {
    hash.context_.reset(EVP_MD_CTX_new());
    if (hash.context_ == nullptr) {
      return internal_error("OpenSSL has no memory for a hash");
    }
    TRY(hash.reset());
  }
  return hash;
}

std::string_view BlobHash::name() const {
  if (!is_hexadecimal(etag_)) {
    return "";
  }
  return etag_.size() == kSha256Digits ? "SHA-256" : etag_.size() == kSha1Digits ? "git SHA-1" : "";
}

Status BlobHash::reset() {
  if (context_ == nullptr) {
    return {};
  }
  const bool large = etag_.size() == kSha256Digits;
  if (EVP_DigestInit_ex(context_.get(), large ? EVP_sha256() : EVP_sha1(), nullptr) != 1) {
    return internal_error("OpenSSL does not hash");
  }
  if (large) {
    return {};
  }
  std::string prefix = "blob " + std::to_string(size_);
  prefix += '\0';
  return update(prefix);
}

Status BlobHash::update(std::string_view bytes) {
  if (context_ != nullptr && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) {
    return internal_error("OpenSSL does not hash");
  }
  return {};
}

Result<std::string> BlobHash::finish() {
  if (context_ == nullptr) {
    return etag_;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) {
    return internal_error("OpenSSL does not hash");
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4U];
    text += kDigits[digest[i] & 15U];
  }
  return text;
}

}  // namespace godwit
