#include "text/testing/golden_rows.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "text/base64.h"
#include "text/detokenizer.h"

namespace godwit::test {

void Score::add(const std::string& kind, const std::string& failure) {
  Count& count = counts_[kind];
  ++count.total;
  if (failure.empty()) {
    ++count.passed;
  } else if (++reported_ <= 8) {
    ADD_FAILURE() << kind << ": " << failure;
  }
}

void Score::print(const std::string& name) const {
  std::string line = name + ":";
  for (const auto& [kind, count] : counts_) {
    line += " " + kind + " " + std::to_string(count.passed) + "/" + std::to_string(count.total);
    EXPECT_EQ(count.passed, count.total) << kind;
  }
  std::printf("  %s\n", line.c_str());
}

std::vector<TokenId> ids_of(const Json& row, std::string_view key) {
  std::vector<TokenId> ids;
  for (const Json& id : row.find(key)->as_array()) {
    // Ids beyond 32 bits become one that is as much out of range.
    ids.push_back(static_cast<TokenId>(std::min<std::int64_t>(*id.to_int64(), 0x7FFFFFFF)));
  }
  return ids;
}

std::string text_of(const Json& row, std::string_view key) {
  return row.find(key)->as_string();
}

std::string show(const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) {
    text += std::to_string(id) + " ";
  }
  return text;
}

std::string compare(const std::string& what, const std::vector<TokenId>& got,
                    const std::vector<TokenId>& expected) {
  return got == expected ? "" : what + ": " + show(got) + "expected " + show(expected);
}

std::string compare(const std::string& what, const std::string& got, const std::string& expected) {
  return got == expected ? "" : what + ": '" + got + "' expected '" + expected + "'";
}

std::string check_text(const Tokenizer& tokenizer, const Json& row, const std::string& text) {
  const std::vector<TokenId> ids = tokenizer.encode(text, {.add_special_tokens = false});
  const std::vector<TokenId> with_special = tokenizer.encode(text);
  std::string failure = compare("ids of '" + text + "'", ids, ids_of(row, "ids"));
  failure += compare("dec", tokenizer.decode(ids, false), text_of(row, "dec"));
  const bool differs = row.find("ids_special") != nullptr;
  failure += compare("ids_special", with_special, ids_of(row, differs ? "ids_special" : "ids"));
  failure += compare("dec_special", tokenizer.decode(with_special, false),
                     text_of(row, differs ? "dec_special" : "dec"));
  failure += compare("dec_skip", tokenizer.decode(with_special, true), text_of(row, "dec_skip"));
  if (row.find("ids_split") != nullptr) {
    failure +=
        compare("ids_split of '" + text + "'",
                tokenizer.encode(text, {.add_special_tokens = false, .split_special_tokens = true}),
                ids_of(row, "ids_split"));
  }
  return failure;
}

std::string check_stream(const Tokenizer& tokenizer, const Json& row) {
  const std::vector<TokenId> prompt = ids_of(row, "prompt");
  const std::vector<TokenId> ids = ids_of(row, "ids");
  const JsonArray& vllm = row.find("vllm")->as_array();
  const JsonArray& hf = row.find("hf") != nullptr ? row.find("hf")->as_array() : vllm;
  bool use_vllm = row.find("prompt_cut") != nullptr;
  for (const Json& step : hf) {
    use_vllm = use_vllm || step.is_object();
  }
  Detokenizer detokenizer(tokenizer, prompt, row.find("skip")->as_bool());
  std::string failure;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Json& step = use_vllm ? vllm[i] : hf[i];
    failure += compare("step " + std::to_string(i) + " of " + to_json(row),
                       detokenizer.push(ids[i]), step.is_null() ? std::string() : step.as_string());
  }
  return failure;
}

std::string check_vocab(const Tokenizer& tokenizer, const Json& row) {
  const std::vector<TokenId> ids = ids_of(row, "ids");
  const JsonArray& tokens = row.find("toks")->as_array();
  std::string failure;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (tokens[i].is_null()) {
      failure += tokenizer.id_to_token(ids[i]) ? "vocab: id without token has one" : "";
      continue;
    }
    failure += compare("vocab", std::string(tokenizer.id_to_token(ids[i]).value_or("(none)")),
                       tokens[i].as_string());
    failure += tokenizer.token_to_id(tokens[i].as_string()) == ids[i] ? "" : "vocab id";
  }
  return failure;
}

std::string check_row(const Tokenizer& tokenizer, const Json& row, const std::string& kind,
                      const std::map<std::string, std::string>& corpus) {
  if (kind == "enc") {
    return check_text(tokenizer, row, corpus.at(text_of(row, "id")));
  }
  if (kind == "added") {
    return check_text(tokenizer, row, text_of(row, "text"));
  }
  if (kind == "dec") {
    const std::vector<TokenId> ids = ids_of(row, "ids");
    return compare("dec " + show(ids), tokenizer.decode(ids, false), text_of(row, "dec")) +
           compare("dec_skip " + show(ids), tokenizer.decode(ids, true), text_of(row, "dec_skip"));
  }
  if (kind == "stream") {
    return check_stream(tokenizer, row);
  }
  if (kind == "pair") {
    const EncodedPair pair = tokenizer.encode_pair(text_of(row, "a"), text_of(row, "b"));
    return compare("pair", pair.ids, ids_of(row, "ids")) +
           compare("type_ids", pair.type_ids, ids_of(row, "type_ids"));
  }
  if (kind == "chat") {
    return compare("chat", tokenizer.encode(text_of(row, "text"), {.add_special_tokens = false}),
                   ids_of(row, "ids"));
  }
  if (kind == "vocab") {
    return check_vocab(tokenizer, row);
  }
  return "unknown kind of row";
}

/// The corpus by id; rows of ill-formed bytes are those bytes.
std::map<std::string, std::string> read_corpus(const std::filesystem::path& folder,
                                               CorpusBytes bytes) {
  std::map<std::string, std::string> corpus;
  for (const Json& row : test::read_json_lines(folder / "corpus.jsonl.gz")) {
    const Json* const raw = row.find("b64");
    corpus[text_of(row, "id")] = raw != nullptr && bytes == CorpusBytes::kRaw
                                     ? *decode_base64(raw->as_string())
                                     : text_of(row, "text");
  }
  return corpus;
}

void check_golden(const Tokenizer& tokenizer, const std::filesystem::path& folder,
                  const std::string& name, const std::string& file) {
  const std::map<std::string, std::string> corpus = read_corpus(folder, CorpusBytes::kRaw);
  Score score;
  for (const Json& row : read_json_lines(folder / name / file)) {
    const std::string kind = text_of(row, "k");
    score.add(kind, check_row(tokenizer, row, kind, corpus));
  }
  score.print(name);
}

std::string file_test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

}  // namespace godwit::test
