#pragma once
// A SentencePiece vocabulary with the settings that came with it: the content of tokenizer.model,
// and the same as GGUF files keep it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/status.h"
#include "text/tokenizer.h"

namespace godwit {

enum class SentencePieceType {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct SentencePiece {
  std::string_view text;  ///< A view of the file.
  float score = 0;
  SentencePieceType type = SentencePieceType::kNormal;
};

struct SentencePieceModel {
  std::vector<SentencePiece> pieces;  ///< By id.
  bool unigram = true;                ///< Otherwise BPE.
  bool byte_fallback = false;
  bool single_precision = true;  ///< Unigram's scores are added up in float, as its own code does.
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool space_as_suffix = false;
  std::string_view charsmap;  ///< See charsmap.h; may be empty.
  std::optional<TokenId> bos_id;
  std::optional<TokenId> eos_id;
  std::string_view unknown_text = " \xE2\x81\x87 ";  ///< What the unknown piece reads as.
  bool add_bos = false;
  bool add_eos = false;
};

/// Reads the bytes of tokenizer.model; the result looks into them. Of the beginning and end tokens
/// it adds the former if there is one. Errors: kInvalidArgument; kUnimplemented for word and
/// character models.
Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes);

/// Builds the tokenizer. Control pieces become special tokens and user-defined ones added tokens;
/// `config` (tokenizer_config.json, may be null) adds and changes tokens and says which of the
/// beginning and end tokens are added.
/// Errors: kInvalidArgument, naming the piece.
Result<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model, const Json* config);

}  // namespace godwit
