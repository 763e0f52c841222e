#!/usr/bin/env python3
"""Writes tests/data/tokenizers/gguf_pre.json.gz: how llama.cpp splits texts by each tokenizer.ggml.pre
whose original vocabulary the fixtures lack.

Run it as make_gguf_golden.py, which names what it needs. llama.cpp tokenises tests/data/tokenizers'
corpus with the vocabularies of gpt2 and qwen3 there (their added tokens left out) under each name.
A token without merges, UNMERGED, is added to both: it comes out whole where llama.cpp looks a word up
before it merges.

{vocabulary: {"rules": {name: {"add_bos": where the file does not say}},
              "texts": [for each text, and UNMERGED last: {"ids": different answers,
                                                           "of": index of the answer of each rule}]}}

llama.cpp composes no characters. Models of the rules in COMPOSED do, so that it gets their texts
composed. Of the rules in ASCII_SPACES it computes with spaces of ASCII alone, unlike the tokenizer
that they come from; texts with others have -1 for an answer.
"""

import gzip
import json
import pathlib
import tempfile
import unicodedata

import gguf
import llama_cpp

DATA = pathlib.Path("tests/data/tokenizers")
UNMERGED = "zqzqzq"
ASCII_SPACES = ("deepseek-llm",)
COMPOSED = ("command-r", "mpt", "deepseek-r1-qwen")
RULES = ("", "default", "deepseek-llm", "refact", "command-r", "mpt", "olmo", "jais", "exaone4",
         "trillion", "granite-docling", "gigachat", "a.x-4.0", "mellum", "codeshell", "exaone", "minerva-7b",
         "dbrx", "smaug-bpe", "glm4", "chatglm-bpe", "stablelm2", "megrez", "hunyuan", "bailingmoe",
         "deepseek-r1-qwen", "seed-coder", "qwen35", "llama3", "llama-v3", "falcon3", "falcon-h1",
         "pixtral", "lfm2", "hunyuan-dense", "bloom", "poro-chat", "gpt3-finnish", "viking")
# qwen3's vocabulary shows more of other scripts and no numbers; one name of each rule is enough.
VOCABULARIES = {"gpt2": RULES,
                "qwen3": ("default", "deepseek-llm", "command-r", "mpt", "dbrx", "stablelm2",
                          "seed-coder", "qwen35", "bloom", "viking")}


def write_vocabulary(path, rule, tokenizer):
    """A GGUF file of nothing but a vocabulary."""
    model = json.loads(gzip.open(DATA / tokenizer / "tokenizer.json.gz").read())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get) + [UNMERGED]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    if rule:
        writer.add_tokenizer_pre(rule)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(tokens))
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge)
                             for merge in model["merges"]])
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def answer_index(model, rule, text, answers):
    """Where among `answers` llama.cpp's is, which is added if it is new."""
    if rule in ASCII_SPACES and any(c.isspace() and not c.isascii() for c in text):
        return -1
    given = unicodedata.normalize("NFC", text) if rule in COMPOSED else text
    answer = model.tokenize(given.encode(), add_bos=False, special=False)
    if answer not in answers:
        answers.append(answer)
    return answers.index(answer)


def main():
    with gzip.open(DATA / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file] + [UNMERGED]
    result = {}
    for tokenizer, rules in VOCABULARIES.items():
        facts = {}
        rows = [{"ids": [], "of": []} for _ in texts]
        for rule in rules:
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "vocabulary.gguf"
                write_vocabulary(path, rule, tokenizer)
                model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
            vocabulary = llama_cpp.llama_model_get_vocab(model.model)
            facts[rule] = {"add_bos": llama_cpp.llama_vocab_get_add_bos(vocabulary)}
            for text, row in zip(texts, rows):
                row["of"].append(answer_index(model, rule, text, row["ids"]))
            print(tokenizer, rule, facts[rule], flush=True)
        result[tokenizer] = {"rules": facts, "texts": rows}
    text = json.dumps(result, separators=(",", ":"))
    (DATA / "gguf_pre.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
