// parse_sentencepiece: the messages of sentencepiece_model.proto, as far as they concern encoding.

#include <string>

#include "text/protobuf_reader.h"
#include "text/sentencepiece_model.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace godwit {
namespace {

Status bad(std::string_view what) {
  return invalid_argument("tokenizer.model: " + std::string(what),
                          "check that the file is complete and unchanged");
}

/// Calls `take` for each field of a message.
template <class Take>
Status for_each_field(std::string_view message, const Take& take) {
  ProtobufReader reader(message);
  while (true) {
    const Result<std::optional<ProtobufField>> field = reader.next();
    if (!field.ok()) {
      return bad(field.status().cause());
    }
    if (!*field) {
      return {};
    }
    TRY(take(**field));
  }
}

Status read_piece(std::string_view message, SentencePieceModel& model) {
  SentencePiece piece;
  TRY(for_each_field(message, [&](const ProtobufField& field) -> Status {
    if (field.number == 1) {
      piece.text = field.bytes;
    } else if (field.number == 2) {
      piece.score = field.as_float();
    } else if (field.number == 3) {
      if (field.integer < 1 || field.integer > 6) {
        return bad("a piece has the type " + std::to_string(field.integer));
      }
      piece.type = static_cast<SentencePieceType>(field.integer);
    }
    return {};
  }));
  model.pieces.push_back(piece);
  return model.pieces.size() <= static_cast<std::size_t>(kMaxVocabularySize)
             ? Status()
             : bad("there are more than " + std::to_string(kMaxVocabularySize) + " pieces");
}

Status read_trainer(std::string_view message, SentencePieceModel& model) {
  // The ids that are not in the file, by the format's definition.
  model.bos_id = 1;
  model.eos_id = 2;
  const auto id_of = [](const ProtobufField& field) {
    return field.as_int32() >= 0 ? std::optional<TokenId>(field.as_int32()) : std::nullopt;
  };
  return for_each_field(message, [&](const ProtobufField& field) -> Status {
    switch (field.number) {
      case 3:
        if (field.integer != 1 && field.integer != 2) {
          return unimplemented("tokenizer.model: models of the type " +
                               std::to_string(field.integer) +
                               " (word or character) are not supported");
        }
        model.unigram = field.integer == 1;
        break;
      case 24:
        model.space_as_suffix = field.is_true();
        break;
      case 35:
        model.byte_fallback = field.is_true();
        break;
      case 41:
        model.bos_id = id_of(field);
        break;
      case 42:
        model.eos_id = id_of(field);
        break;
      case 44:
        model.unknown_text = field.bytes;
        break;
      default:
        break;
    }
    return {};
  });
}

Status read_normalizer(std::string_view message, SentencePieceModel& model) {
  return for_each_field(message, [&](const ProtobufField& field) -> Status {
    switch (field.number) {
      case 2:
        model.charsmap = field.bytes;
        break;
      case 3:
        model.add_dummy_prefix = field.is_true();
        break;
      case 4:
        model.remove_extra_whitespaces = field.is_true();
        break;
      case 5:
        model.escape_whitespaces = field.is_true();
        break;
      default:
        break;
    }
    return {};
  });
}

}  // namespace

Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes) {
  SentencePieceModel model;
  TRY(for_each_field(bytes, [&](const ProtobufField& field) -> Status {
    if (field.delimited && field.number == 1) {
      return read_piece(field.bytes, model);
    }
    if (field.delimited && field.number == 2) {
      return read_trainer(field.bytes, model);
    }
    return field.delimited && field.number == 3 ? read_normalizer(field.bytes, model) : Status();
  }));
  if (model.pieces.empty()) {
    return bad("there are no pieces");
  }
  const auto is_control = [&](const std::optional<TokenId>& id) {
    return id && static_cast<std::size_t>(*id) < model.pieces.size() &&
           model.pieces[static_cast<std::size_t>(*id)].type == SentencePieceType::kControl;
  };
  if (!is_well_formed_utf8(model.unknown_text)) {
    return bad("the unknown piece's text is no UTF-8");
  }
  model.bos_id = is_control(model.bos_id) ? model.bos_id : std::nullopt;
  model.eos_id = is_control(model.eos_id) ? model.eos_id : std::nullopt;
  model.add_bos = model.bos_id.has_value();
  return model;
}

}  // namespace godwit
