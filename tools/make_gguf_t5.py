#!/usr/bin/env python3
"""Writes tests/data/tokenizers/gguf_t5.json.gz: the ids of llama.cpp for tests/data/tokenizers' corpus,
by the vocabulary of t5-small there as GGUF files hold it (tokenizer.ggml.model "t5"), sentinels left out.

Run it as make_gguf_golden.py, which names what it needs.
"""

import base64
import gzip
import json
import pathlib
import tempfile

import gguf
import llama_cpp

DATA = pathlib.Path("tests/data/tokenizers")


def write_vocabulary(path):
    """A GGUF file of nothing but the vocabulary, with the keys that the converter writes."""
    tokenizer = json.loads(gzip.open(DATA / "t5-small" / "tokenizer.json.gz").read())
    pieces = [piece for piece in tokenizer["model"]["vocab"] if not piece[0].startswith("<extra_id")]
    kinds = gguf.TokenType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _ in pieces])
    writer.add_token_scores([score for _, score in pieces])
    writer.add_token_types([kinds.CONTROL, kinds.CONTROL, kinds.UNKNOWN]
                           + [kinds.NORMAL] * (len(pieces) - 3))
    writer.add_pad_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(
        base64.b64decode(tokenizer["normalizer"]["precompiled_charsmap"]))
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vocabulary.gguf"
        write_vocabulary(path)
        model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    with gzip.open(DATA / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    # Special tokens are looked for in the texts. The ids end in that of </s>, which llama.cpp adds
    # where a file does not say otherwise.
    ids = {row["id"]: model.tokenize(row["text"].encode(), add_bos=True, special=True)
           for row in rows}
    text = json.dumps(ids, separators=(",", ":"))
    (DATA / "gguf_t5.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
