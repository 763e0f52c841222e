#!/usr/bin/env python3
"""Writes a llama of random weights whose rows are multiples of 256, for bench/cpu/compare.py:

    VENV/bin/python bench/cpu/make_model.py DEFAULT_MODEL.gguf OUT.gguf TYPE [HEAD_TYPE]

VENV is that of tools/make_gguf_golden.py; the vocabulary is the default model's. 8 layers, 1024 wide;
types by their names in GGUF, for example Q4_K with a head (and embedding) in Q6_K.
"""

import pathlib
import sys

import gguf
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import make_gguf_golden  # noqa: E402

WIDTH, INNER, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 1024, 2816, 8, 16, 8, 64
NUMBERS = {
    "llama.block_count": LAYERS,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": INNER,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV_HEADS,
    "llama.rope.dimension_count": HEAD_DIM,
    "llama.attention.key_length": HEAD_DIM,
    "llama.attention.value_length": HEAD_DIM,
}


def main():
    default_model, out = sys.argv[1:3]
    kind = gguf.GGMLQuantizationType[sys.argv[3]]
    head_kind = gguf.GGMLQuantizationType[sys.argv[-1]]
    reader = gguf.GGUFReader(default_model)
    writer = gguf.GGUFWriter(out, "llama")
    for name, field in reader.fields.items():
        if name in ("general.architecture", "general.file_type") or name.startswith("GGUF."):
            continue
        sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, NUMBERS.get(name, field.contents()), field.types[0], sub_type)
    vocabulary = len(reader.fields["tokenizer.ggml.tokens"].data)
    random = numpy.random.default_rng(3)

    def matrix(name, rows, columns, stored=kind):
        values = random.standard_normal((rows, columns), numpy.float32) / numpy.sqrt(columns)
        data = make_gguf_golden.quantize(values.astype(numpy.float32), stored)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=stored)

    def norm(name):
        writer.add_tensor(f"{name}.weight", numpy.ones(WIDTH, numpy.float32))

    matrix("token_embd", vocabulary, WIDTH, head_kind)
    norm("output_norm")
    for index in range(LAYERS):
        block = f"blk.{index}"
        norm(f"{block}.attn_norm")
        norm(f"{block}.ffn_norm")
        matrix(f"{block}.attn_q", HEADS * HEAD_DIM, WIDTH)
        matrix(f"{block}.attn_k", KV_HEADS * HEAD_DIM, WIDTH)
        matrix(f"{block}.attn_v", KV_HEADS * HEAD_DIM, WIDTH)
        matrix(f"{block}.attn_output", WIDTH, HEADS * HEAD_DIM)
        matrix(f"{block}.ffn_gate", INNER, WIDTH)
        matrix(f"{block}.ffn_up", INNER, WIDTH)
        matrix(f"{block}.ffn_down", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
