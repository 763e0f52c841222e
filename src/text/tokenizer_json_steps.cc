#include "text/tokenizer_json_steps.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/base64.h"
#include "text/byte_level.h"
#include "text/hugging_face_characters.h"

namespace godwit {
namespace {

/// Names the field in the error of a component that does not know it.
Status at_field(const TokenizerField& field, const Status& status) {
  return {status.code(), "tokenizer.json: " + field.path + ": " + std::string(status.cause()),
          std::string(status.remedy())};
}

/// {"Regex": "..."} or {"String": "..."}.
Result<SplitPattern> read_pattern(const TokenizerField& field) {
  const TokenizerField regex = field["Regex"];
  const TokenizerField literal = field["String"];
  if (regex.absent() == literal.absent()) {
    return field.wrong("must have either a Regex or a String");
  }
  const std::string text = TRY((literal.absent() ? regex : literal).to_string());
  Result<SplitPattern> pattern =
      literal.absent() ? SplitPattern::create(text) : SplitPattern::create_literal(text);
  if (!pattern.ok()) {
    return at_field(field, pattern.status());
  }
  return pattern;
}

Result<SplitBehavior> read_behavior(const TokenizerField& field) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kBehaviors = {{
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  }};
  const std::string name = TRY(field.to_string("Isolated"));
  for (const auto& [known, behavior] : kBehaviors) {
    if (name == known) {
      return behavior;
    }
  }
  return field.unsupported("'" + name + "'");
}

/// Calls `read_one` for a component, or for each member of a Sequence, which may nest.
template <class ReadOne>
Status for_each_component(const TokenizerField& field, std::string_view members_key,
                          const ReadOne& read_one) {
  if (field.absent()) {
    return {};
  }
  const std::string type = TRY(field["type"].to_string());
  if (type != "Sequence") {
    return read_one(field, type);
  }
  const TokenizerField members = field[members_key];
  const std::size_t count = TRY(members.to_array())->size();
  for (std::size_t i = 0; i < count; ++i) {
    TRY(for_each_component(members.element(i), members_key, read_one));
  }
  return {};
}

Result<Charsmap> read_charsmap(const TokenizerField& field) {
  const std::optional<std::string> bytes = decode_base64(TRY(field.to_string()));
  if (!bytes) {
    return field.wrong("is no base64");
  }
  Result<Charsmap> map = Charsmap::create(*bytes);
  return map.ok() ? std::move(map) : Result<Charsmap>(at_field(field, map.status()));
}

Result<NormalizerStep> read_normalizer_step(const TokenizerField& field, std::string_view type) {
  if (type == "NFC" || type == "NFKC" || type == "NFD" || type == "NFKD") {
    return NormalizerStep(UnicodeStep{type.size() == 4, type.back() == 'C'});
  }
  if (type == "Lowercase") {
    return NormalizerStep(LowercaseStep());
  }
  if (type == "Replace") {
    SplitPattern pattern = TRY(read_pattern(field["pattern"]));
    return NormalizerStep(ReplaceStep{std::move(pattern), TRY(field["content"].to_string())});
  }
  if (type == "Prepend") {
    return NormalizerStep(PrependStep{TRY(field["prepend"].to_string())});
  }
  if (type == "Strip") {
    const bool left = TRY(field["strip_left"].to_bool(true));
    return NormalizerStep(StripStep{left, TRY(field["strip_right"].to_bool(true))});
  }
  if (type == "BertNormalizer") {
    BertStep step{};
    step.clean_text = TRY(field["clean_text"].to_bool(true));
    step.separate_ideographs = TRY(field["handle_chinese_chars"].to_bool(true));
    step.lowercase = TRY(field["lowercase"].to_bool(true));
    step.strip_accents = TRY(field["strip_accents"].to_bool(step.lowercase));
    return NormalizerStep(step);
  }
  if (type == "Precompiled") {
    return NormalizerStep(CharsmapStep{TRY(read_charsmap(field["precompiled_charsmap"]))});
  }
  return field["type"].unsupported("'" + std::string(type) + "'");
}

/// What Metaspace as pre-tokenizer and as decoder have in common.
struct Metaspace {
  std::string replacement;
  MetaspaceStep::Prepend prepend;
};

Result<Metaspace> read_metaspace(const TokenizerField& field) {
  Metaspace result{TRY(field["replacement"].to_string(kMetaspace)), {}};
  if (result.replacement.empty()) {
    return field["replacement"].wrong("is empty");
  }
  // Older files have add_prefix_space instead.
  const bool add_prefix_space = TRY(field["add_prefix_space"].to_bool(true));
  const std::string scheme =
      TRY(field["prepend_scheme"].to_string(add_prefix_space ? "always" : "never"));
  if (scheme == "always") {
    result.prepend = MetaspaceStep::Prepend::kAlways;
  } else if (scheme == "first") {
    result.prepend = MetaspaceStep::Prepend::kFirst;
  } else if (scheme == "never") {
    result.prepend = MetaspaceStep::Prepend::kNever;
  } else {
    return field["prepend_scheme"].unsupported("'" + scheme + "'");
  }
  return result;
}

Result<PreTokenizerStep> read_pre_tokenizer_step(const TokenizerField& field,
                                                 std::string_view type) {
  if (type == "ByteLevel") {
    ByteLevelStep step{TRY(field["add_prefix_space"].to_bool(true)), {}};
    if (TRY(field["use_regex"].to_bool(true))) {
      step.split.push_back(
          {TRY(SplitPattern::create(kGpt2Pattern)), SplitBehavior::kIsolated, false});
    }
    return PreTokenizerStep(std::move(step));
  }
  if (type == "Split") {
    SplitPattern pattern = TRY(read_pattern(field["pattern"]));
    const SplitBehavior behavior = TRY(read_behavior(field["behavior"]));
    return PreTokenizerStep(
        SplitStep{std::move(pattern), behavior, TRY(field["invert"].to_bool(false))});
  }
  if (type == "Digits") {
    const bool individual = TRY(field["individual_digits"].to_bool(false));
    return PreTokenizerStep(CharacterSplitStep{
        digit_characters(), individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
  }
  if (type == "Punctuation") {
    return PreTokenizerStep(
        CharacterSplitStep{punctuation_characters(), TRY(read_behavior(field["behavior"]))});
  }
  if (type == "WhitespaceSplit") {
    return PreTokenizerStep(CharacterSplitStep{*unicode_class("s"), SplitBehavior::kRemoved});
  }
  if (type == "Metaspace") {
    Metaspace metaspace = TRY(read_metaspace(field));
    return PreTokenizerStep(MetaspaceStep{std::move(metaspace.replacement), metaspace.prepend,
                                          TRY(field["split"].to_bool(true))});
  }
  return field["type"].unsupported("'" + std::string(type) + "'");
}

Result<DecoderStep> read_decoder_step(const TokenizerField& field, std::string_view type) {
  if (type == "ByteLevel") {
    return DecoderStep(ByteLevelDecoder());
  }
  if (type == "ByteFallback") {
    return DecoderStep(ByteFallbackDecoder());
  }
  if (type == "Fuse") {
    return DecoderStep(FuseDecoder());
  }
  if (type == "Replace") {
    SplitPattern pattern = TRY(read_pattern(field["pattern"]));
    return DecoderStep(
        ReplaceDecoder{ReplaceStep{std::move(pattern), TRY(field["content"].to_string())}});
  }
  if (type == "Strip") {
    StripDecoder step{TRY(field["content"].to_string(" ")), 0, 0};
    if (step.content.empty()) {
      return field["content"].wrong("is empty");
    }
    // The counts are small; the check of a token id bounds them.
    step.start = static_cast<std::size_t>(TRY(field["start"].to_token_id()));
    step.stop = static_cast<std::size_t>(TRY(field["stop"].to_token_id()));
    return DecoderStep(std::move(step));
  }
  if (type == "Metaspace") {
    Metaspace metaspace = TRY(read_metaspace(field));
    return DecoderStep(MetaspaceDecoder{std::move(metaspace.replacement),
                                        metaspace.prepend != MetaspaceStep::Prepend::kNever});
  }
  if (type == "WordPiece") {
    std::string prefix = TRY(field["prefix"].to_string("##"));
    return DecoderStep(WordPieceDecoder{std::move(prefix), TRY(field["cleanup"].to_bool(true))});
  }
  return field["type"].unsupported("'" + std::string(type) + "'");
}

/// Reads [token, id].
Result<TokenId> read_token_and_id(const TokenizerField& field) {
  if (TRY(field.to_array())->size() != 2) {
    return field.wrong("must be a token and its id");
  }
  return field.element(1).to_token_id();
}

Result<PostProcessor> read_bert(const TokenizerField& field) {
  const TokenId begin = TRY(read_token_and_id(field["cls"]));
  return bert_template(begin, TRY(read_token_and_id(field["sep"])));
}

Result<PostProcessor> read_roberta(const TokenizerField& field) {
  const TemplatePart begin{TemplatePart::Kind::kTokens, {TRY(read_token_and_id(field["cls"]))}, 0};
  const TemplatePart end{TemplatePart::Kind::kTokens, {TRY(read_token_and_id(field["sep"]))}, 0};
  const TemplatePart first{TemplatePart::Kind::kFirst, {}, 0};
  const TemplatePart second{TemplatePart::Kind::kSecond, {}, 0};
  return PostProcessor{{begin, first, end}, {begin, first, end, end, second, end}};
}

/// Reads a list of {"SpecialToken": {"id", "type_id"}} and {"Sequence": {"id": "A" or "B",
/// "type_id"}}.
Result<std::vector<TemplatePart>> read_template(const TokenizerField& field,
                                                const TokenizerField& special_tokens, bool pair) {
  std::vector<TemplatePart> parts;
  const std::size_t count = TRY(field.to_array())->size();
  for (std::size_t i = 0; i < count; ++i) {
    const TokenizerField entry = field.element(i);
    const bool is_text = !entry["Sequence"].absent();
    const TokenizerField body = entry[is_text ? "Sequence" : "SpecialToken"];
    const std::string id = TRY(body["id"].to_string());
    TemplatePart part;
    // No type id exceeds a vocabulary's size either, so the same check serves.
    part.type_id = TRY(body["type_id"].to_token_id());
    if (!is_text) {
      const TokenizerField ids = special_tokens[id]["ids"];
      const std::size_t id_count = TRY(ids.to_array())->size();
      for (std::size_t j = 0; j < id_count; ++j) {
        part.tokens.push_back(TRY(ids.element(j).to_token_id()));
      }
    } else if (id == "A" || (id == "B" && pair)) {
      part.kind = id == "A" ? TemplatePart::Kind::kFirst : TemplatePart::Kind::kSecond;
    } else {
      return body["id"].wrong("is '" + id + "', which names no text here");
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

Result<Normalizer> read_normalizer(const TokenizerField& field) {
  std::vector<NormalizerStep> steps;
  const auto read_one = [&](const TokenizerField& one, std::string_view type) -> Status {
    steps.push_back(TRY(read_normalizer_step(one, type)));
    return {};
  };
  TRY(for_each_component(field, "normalizers", read_one));
  return Normalizer(std::move(steps));
}

Result<PreTokenizer> read_pre_tokenizer(const TokenizerField& field) {
  std::vector<PreTokenizerStep> steps;
  const auto read_one = [&](const TokenizerField& one, std::string_view type) -> Status {
    if (type == "BertPreTokenizer") {
      steps.emplace_back(CharacterSplitStep{*unicode_class("s"), SplitBehavior::kRemoved});
      steps.emplace_back(CharacterSplitStep{punctuation_characters(), SplitBehavior::kIsolated});
      return {};
    }
    steps.push_back(TRY(read_pre_tokenizer_step(one, type)));
    return {};
  };
  TRY(for_each_component(field, "pretokenizers", read_one));
  return PreTokenizer(std::move(steps));
}

Result<TokenDecoder> read_decoder(const TokenizerField& field) {
  std::vector<DecoderStep> steps;
  const auto read_one = [&](const TokenizerField& one, std::string_view type) -> Status {
    steps.push_back(TRY(read_decoder_step(one, type)));
    return {};
  };
  TRY(for_each_component(field, "decoders", read_one));
  if (steps.empty() && !field.absent()) {
    steps.emplace_back(FuseDecoder());  // an empty sequence joins without spaces
  }
  return TokenDecoder(std::move(steps));
}

Result<PostProcessor> read_post_processor(const TokenizerField& field) {
  std::optional<PostProcessor> result;
  const auto read_one = [&](const TokenizerField& one, std::string_view type) -> Status {
    if (type == "ByteLevel") {
      return {};  // changes offsets alone
    }
    if (result) {
      return one.unsupported("as a second template");
    }
    if (type == "RobertaProcessing") {
      result = TRY(read_roberta(one));
    } else if (type == "BertProcessing") {
      result = TRY(read_bert(one));
    } else if (type == "TemplateProcessing") {
      std::vector<TemplatePart> single =
          TRY(read_template(one["single"], one["special_tokens"], false));
      result = PostProcessor{std::move(single),
                             TRY(read_template(one["pair"], one["special_tokens"], true))};
    } else {
      return one["type"].unsupported("'" + std::string(type) + "'");
    }
    return {};
  };
  TRY(for_each_component(field, "processors", read_one));
  return result ? *std::move(result) : PostProcessor();
}

}  // namespace godwit
