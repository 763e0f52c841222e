#pragma once
// Text to token ids and back, as Hugging Face's tokenizers do it: cut out the added tokens,
// normalise, pre-tokenise, encode each piece with the model, and put the tokenizer's own tokens
// around the result.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/status.h"
#include "text/gguf_vocabulary.h"
#include "text/token_decoder.h"

namespace godwit {

struct TokenizerParts;

struct EncodeOptions {
  /// Adds the tokens that the tokenizer puts around a text, such as a beginning-of-text token.
  bool add_special_tokens = true;
  /// Treats the text of special tokens as plain text, so that it cannot pose as control.
  bool split_special_tokens = false;
};

struct EncodedPair {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> type_ids;  ///< Which text each token belongs to, as the model is told.
};

/// Immutable; any number of threads may use one at once.
class Tokenizer {
 public:
  /// Reads the content of tokenizer.json, and of tokenizer_config.json for the names of the
  /// beginning and end tokens (may be null). Errors: kInvalidArgument with the field's name;
  /// kUnimplemented with the component's.
  static Result<Tokenizer> from_json(const Json& tokenizer_json, const Json* tokenizer_config);
  /// Reads the content of a SentencePiece tokenizer.model, and of tokenizer_config.json (may be
  /// null) for added tokens and which of the beginning and end tokens are added.
  static Result<Tokenizer> from_sentencepiece(std::string_view bytes, const Json* config);
  /// Reads tiktoken's ranks: lines of a token in base64 and its rank. They say nothing of the split
  /// rule; it is the one of the published vocabulary with as many ranks. Added tokens are those of
  /// tokenizer_config.json (may be null).
  static Result<Tokenizer> from_tiktoken(std::string_view text, const Json* config);
  /// Reads the content of Mistral's tekken.json, likewise.
  static Result<Tokenizer> from_tekken(const Json& tekken, const Json* config);
  /// Reads BERT's vocab.txt, one token a line, likewise.
  static Result<Tokenizer> from_vocab_txt(std::string_view text, const Json* config);
  /// Reads the vocabulary of a GGUF file.
  static Result<Tokenizer> from_gguf(const GgufVocabulary& vocabulary);

  explicit Tokenizer(std::unique_ptr<const TokenizerParts> parts);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Encodes any bytes; each maximal ill-formed subpart counts as U+FFFD.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            const EncodeOptions& options = {}) const;
  [[nodiscard]] EncodedPair encode_pair(std::string_view first, std::string_view second,
                                        const EncodeOptions& options = {}) const;

  /// Decodes ids; those without token are left out. Bytes that form no UTF-8 become U+FFFD.
  [[nodiscard]] std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const;

  /// Whether each token has bytes of its own, which in a row are the text. Otherwise what a token
  /// reads as depends on the tokens around it.
  [[nodiscard]] bool bytewise() const;
  /// Appends the bytes that a token adds inside a text; none for an id without token.
  void append_token_bytes(std::string& out, TokenId id) const;
  [[nodiscard]] std::string token_bytes(TokenId id) const;

  /// One more than the largest id; there may be ids below it without token.
  [[nodiscard]] std::int32_t vocab_size() const { return vocab_size_; }
  [[nodiscard]] std::optional<TokenId> token_to_id(std::string_view token) const;
  /// How runs of byte tokens are read.
  [[nodiscard]] TokenDecoder::ByteRuns byte_runs() const;
  /// The token as the vocabulary writes it, in which a space may be a "Ġ".
  [[nodiscard]] std::optional<std::string_view> id_to_token(TokenId id) const;
  [[nodiscard]] bool is_special(TokenId id) const;
  [[nodiscard]] std::optional<TokenId> bos_id() const;
  [[nodiscard]] std::optional<TokenId> eos_id() const;

 private:
  struct Encoding;  // what one call carries from part to part
  void append_text(Encoding& to, std::string_view text) const;
  void append_normalized(Encoding& to, std::string_view text, bool at_beginning) const;
  void append_plain(Encoding& to, std::string_view text, bool at_beginning) const;

  std::unique_ptr<const TokenizerParts> parts_;
  std::int32_t vocab_size_ = 0;
  std::vector<bool> special_;  // by id
};

}  // namespace godwit
