#!/usr/bin/env python3
"""Writes tests/data/gguf/blocks.gguf and blocks.safetensors: random blocks of every quantised type that
is computed on, and what others widen them to.

Run it in an environment of its own, from the root of the tree:

    python3 -m venv VENV && VENV/bin/pip install gguf==0.19.0 safetensors==0.8.0 numpy==2.4.6 \\
        llama-cpp-python==0.3.36
    VENV/bin/python tools/make_gguf_blocks.py

Tensors are named after their type. Every bit is random but those of the scales, which are finite and
of any size that 16 bits can hold, subnormal and zero among them. The gguf package widens; Q8_K, which
it cannot, is widened by the ggml library within llama-cpp-python.
"""

import ctypes
import pathlib

import gguf
import llama_cpp
import numpy
import safetensors.numpy

OUT = pathlib.Path("tests/data/gguf")
TYPES = gguf.GGMLQuantizationType
ROWS, WIDTH = 5, 768
# Where a block has its 16-bit numbers.
SCALES = {
    TYPES.Q8_0: (0,), TYPES.Q4_0: (0,), TYPES.Q4_1: (0, 2), TYPES.Q5_0: (0,), TYPES.Q5_1: (0, 2),
    TYPES.Q2_K: (80, 82), TYPES.Q3_K: (108,), TYPES.Q4_K: (0, 2), TYPES.Q5_K: (0, 2),
    TYPES.Q6_K: (208,), TYPES.Q8_K: (),
}


def random_blocks(kind, random):
    """[ROWS, bytes of WIDTH elements]"""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (ROWS * WIDTH // elements, size), dtype=numpy.uint8)
    for place in SCALES[kind]:
        bits = random.integers(0, 1 << 16, len(blocks), dtype=numpy.uint16)
        bits[(bits & 0x7C00) == 0x7C00] &= 0x83FF  # infinities and NaN become subnormal
        bits[0] = 0
        blocks[:, place : place + 2] = bits.view(numpy.uint8).reshape(-1, 2)
    if kind == TYPES.Q8_K:
        values = random.standard_normal(len(blocks)).astype(numpy.float32)
        blocks[:, :4] = values.view(numpy.uint8).reshape(-1, 4)
    return blocks.reshape(ROWS, -1)


def widened(kind, blocks):
    """[ROWS, WIDTH] f32"""
    if kind != TYPES.Q8_K:
        return gguf.quants.dequantize(blocks, kind).astype(numpy.float32).reshape(ROWS, WIDTH)
    library = pathlib.Path(llama_cpp.__file__).parent / "lib" / "libggml-base.so"
    values = numpy.empty((ROWS, WIDTH), numpy.float32)
    ctypes.CDLL(str(library)).dequantize_row_q8_K(
        blocks.ctypes.data_as(ctypes.c_void_p), values.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(values.size)
    )
    return values


def main():
    random = numpy.random.default_rng(11)
    writer = gguf.GGUFWriter(OUT / "blocks.gguf", "llama")
    values = {}
    for kind in SCALES:
        blocks = random_blocks(kind, random)
        values[kind.name] = widened(kind, blocks)
        assert numpy.isfinite(values[kind.name]).all()
        writer.add_tensor(kind.name, blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    safetensors.numpy.save_file(values, OUT / "blocks.safetensors")


if __name__ == "__main__":
    main()
