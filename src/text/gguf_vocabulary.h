#pragma once
// The vocabulary of a GGUF file as its metadata has it (the keys tokenizer.ggml.*). weights/ fills
// it, Tokenizer::from_gguf reads it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace godwit {

struct GgufVocabulary {
  std::string model;                      ///< tokenizer.ggml.model
  std::string pre;                        ///< tokenizer.ggml.pre; empty when absent
  std::vector<std::string_view> tokens;   ///< Views into the file, which must outlive the call.
  std::vector<std::int32_t> token_types;  ///< One a token, or empty.
  std::vector<std::string_view> merges;   ///< "left right"
  std::vector<float> scores;              ///< One a token, or empty.
  std::string charsmap;                   ///< Of SentencePiece's normaliser; see charsmap.h.
  std::optional<std::int64_t> bos_id;
  std::optional<std::int64_t> eos_id;
  std::optional<std::int64_t> unknown_id;
  std::optional<std::int64_t> padding_id;
  std::optional<std::int64_t> cls_id;        ///< BERT's beginning token.
  std::optional<std::int64_t> separator_id;  ///< BERT's end token.
  std::optional<bool> add_bos;
  std::optional<bool> add_eos;
  std::optional<bool> add_space_prefix;
  std::optional<bool> remove_extra_whitespaces;
};

}  // namespace godwit
