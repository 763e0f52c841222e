// Measures tokenizers on one core:
//   godwit_text_throughput TEXT TOKENIZER...
// TEXT is a file of UTF-8; each TOKENIZER is what load_tokenizer takes. Prints one JSON line for
// each: the time to load it, and the speed of encoding the text in one call and in pieces of 4 KiB,
// and of decoding the ids. Nothing is kept from one call to the next.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "text/tokenizer_files.h"

namespace godwit {
namespace {

constexpr int kRounds = 3;
constexpr std::size_t kPieceBytes = 4096;

/// Processor time, which other programs on the machine disturb less than the clock.
double seconds_of(const auto& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// The best of a few rounds, in MB/s.
double speed_of(std::size_t bytes, const auto& work) {
  double best = seconds_of(work);
  for (int round = 1; round < kRounds; ++round) {
    best = std::min(best, seconds_of(work));
  }
  return static_cast<double>(bytes) / best / 1e6;
}

Status measure(const std::string& text, const std::string& path) {
  std::optional<Tokenizer> tokenizer;
  Status status;
  const double load_seconds = seconds_of([&] {
    Result<Tokenizer> loaded = load_tokenizer(path);
    status = loaded.status();
    if (loaded.ok()) {
      tokenizer.emplace(std::move(loaded).value());
    }
  });
  TRY(status);
  std::vector<TokenId> ids;
  const double whole = speed_of(text.size(), [&] { ids = tokenizer->encode(text); });
  std::size_t in_pieces = 0;
  const double pieces = speed_of(text.size(), [&] {
    in_pieces = 0;
    for (std::size_t at = 0; at < text.size(); at += kPieceBytes) {
      in_pieces += tokenizer->encode(std::string_view(text).substr(at, kPieceBytes)).size();
    }
  });
  std::size_t decoded = 0;
  const double decode =
      speed_of(text.size(), [&] { decoded = tokenizer->decode(ids, false).size(); });
  std::printf(
      "{\"tokenizer\": \"%s\", \"load_ms\": %.1f, \"tokens\": %zu, \"tokens_in_pieces\": %zu, "
      "\"encode_mb_s\": %.2f, \"encode_pieces_mb_s\": %.2f, \"decode_mb_s\": %.2f, "
      "\"decoded_bytes\": %zu}\n",
      path.c_str(), load_seconds * 1e3, ids.size(), in_pieces, whole, pieces, decode, decoded);
  return {};
}

}  // namespace
}  // namespace godwit

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s TEXT TOKENIZER...\n", arguments[0]);
    return 2;
  }
  const godwit::Result<std::string> text = godwit::read_file(arguments[1]);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().message().c_str());
    return 1;
  }
  for (int i = 2; i < count; ++i) {
    const godwit::Status status = godwit::measure(*text, arguments[i]);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
  }
  return 0;
}
