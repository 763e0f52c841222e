#!/usr/bin/env python3
"""Writes the reference files of tests/data/weights with the PyPI packages safetensors and gguf.

Run it in an environment of its own, from the root of the tree:

    python3 -m venv VENV && VENV/bin/pip install gguf==0.19.0 safetensors==0.8.0 numpy==2.4.6
    VENV/bin/python tools/make_gguf_fixture.py ../shared/fixtures

types.gguf         every metadata type and every tensor type that is computed on, and one that is not
types.json         what the gguf package reads back from it
types.safetensors  its tensors as gguf.quants.dequantize gives them
aligned.gguf       the same kind of file with general.alignment 128
names.json         GGUF names of Hugging Face tensors, from gguf's own tables
fixtures.json      digest of what the safetensors package reads from each file of the fixtures

A digest is the SHA-256 of one line a tensor, sorted: name, dtype, shape and SHA-256 of the bytes.
"""

import hashlib
import json
import pathlib
import sys

import gguf
import numpy
import safetensors
import safetensors.numpy

OUT = pathlib.Path("tests/data/weights")
TYPES = gguf.GGMLQuantizationType
VALUES = gguf.GGUFValueType


def digest(rows):
    """Digest of (name, dtype, shape, bytes) rows."""
    lines = sorted(
        f"{name} {dtype} {list(shape)} {hashlib.sha256(data).hexdigest()}\n"
        for name, dtype, shape, data in rows
    )
    return {"tensors": len(lines), "digest": hashlib.sha256("".join(lines).encode()).hexdigest()}


def write_metadata(writer):
    """Adds one key of every type."""
    scalars = {
        "test.uint8": (200, VALUES.UINT8),
        "test.int8": (-100, VALUES.INT8),
        "test.uint16": (60000, VALUES.UINT16),
        "test.int16": (-30000, VALUES.INT16),
        "test.uint32": (4000000000, VALUES.UINT32),
        "test.int32": (-2000000000, VALUES.INT32),
        "test.uint64": (9000000000000000000, VALUES.UINT64),
        "test.uint64_large": (18000000000000000000, VALUES.UINT64),
        "test.int64": (-9000000000000000000, VALUES.INT64),
        "test.float32": (0.1, VALUES.FLOAT32),
        "test.float64": (0.1, VALUES.FLOAT64),
        "test.true": (True, VALUES.BOOL),
        "test.false": (False, VALUES.BOOL),
        "test.string": ("gr\u00fc\u00dfe", VALUES.STRING),
        "test.empty": ("", VALUES.STRING),
    }
    for key, (value, kind) in scalars.items():
        writer.add_key_value(key, value, kind)
    writer.add_array("test.strings", ["a", "", "\u6f22\u5b57", "\u0120the"])
    writer.add_array("test.integers", [1, -2, 3])
    writer.add_array("test.floats", [0.5, -1.25, 1e30])
    writer.add_key_value("test.bytes", [1, 2, 255], VALUES.ARRAY, sub_type=VALUES.UINT8)
    writer.add_array("test.nested", [[1, 2], [3]])


def write_types():
    """Writes types.gguf and its references."""
    random = numpy.random.default_rng(7)
    writer = gguf.GGUFWriter(OUT / "types.gguf", "llama")
    write_metadata(writer)
    plan = [
        ("token_embd.weight", (6, 64), TYPES.Q8_0),
        ("blk.0.attn_norm.weight", (64,), TYPES.F32),
        ("blk.0.attn_q.weight", (64, 64), TYPES.Q4_0),
        ("blk.0.attn_k.weight", (32, 64), TYPES.Q4_1),
        ("blk.0.attn_v.weight", (32, 64), TYPES.F16),
        ("blk.0.attn_v.bias", (32,), TYPES.F16),
        ("blk.0.attn_output.weight", (64, 64), TYPES.BF16),
        ("output_norm.weight", (64,), TYPES.BF16),
    ]
    values = {}
    for name, shape, kind in plan:
        data = random.standard_normal(shape).astype(numpy.float32)
        stored = gguf.quants.quantize(data, kind)
        values[name] = gguf.quants.dequantize(stored, kind).astype(numpy.float32).reshape(shape)
        writer.add_tensor(name, stored, raw_dtype=kind)
    ids = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
    writer.add_tensor("table.ids", ids)
    super_blocks = random.integers(0, 256, (2, 136), dtype=numpy.uint8)
    writer.add_tensor("output.weight", super_blocks, raw_dtype=TYPES.IQ4_XS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    safetensors.numpy.save_file(values, OUT / "types.safetensors")


def read_back(path):
    """What the gguf package reads from a file."""
    reader = gguf.GGUFReader(path)
    tensors = [
        {
            "name": tensor.name,
            "dtype": tensor.tensor_type.name,
            "shape": [int(size) for size in reversed(tensor.shape)],
            "sha256": hashlib.sha256(tensor.data.tobytes()).hexdigest(),
        }
        for tensor in reader.tensors
    ]
    metadata = {
        key: field.contents()
        for key, field in reader.fields.items()
        if not key.startswith("GGUF.") and key != "test.nested"
    }
    return {"tensors": tensors, "metadata": metadata}


def write_aligned():
    """Writes aligned.gguf."""
    writer = gguf.GGUFWriter(OUT / "aligned.gguf", "llama")
    writer.add_custom_alignment(128)
    for index in range(3):
        writer.add_tensor(f"t{index}", numpy.full((5,), index, dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def names():
    """GGUF names for the tensors of a dense model, layers 0 and 11."""
    layer = [
        f"{module}.{kind}"
        for kind in ("weight", "bias")
        for module in (
            "input_layernorm",
            "self_attn.q_proj",
            "self_attn.k_proj",
            "self_attn.v_proj",
            "self_attn.o_proj",
            "self_attn.q_norm",
            "self_attn.k_norm",
            "post_attention_layernorm",
            "mlp.gate_proj",
            "mlp.up_proj",
            "mlp.down_proj",
        )
    ]
    asked = ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"]
    asked += [f"model.layers.{index}.{name}" for index in (0, 11) for name in layer]
    table = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, 12)
    biased = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, 12)
    suffixes = (".weight", ".bias")
    return {
        name: table.get_name(name, suffixes) or biased.get_name(name, suffixes) for name in asked
    }


def fixture_digests(root):
    """Digests of every safetensors file below root."""
    digests = {}
    for path in sorted(root.rglob("*.safetensors")):
        rows = [
            (name, item["dtype"], item["shape"], bytes(item["data"]))
            for name, item in safetensors.deserialize(path.read_bytes())
        ]
        digests[str(path.relative_to(root))] = digest(rows)
    return digests


def main():
    fixtures = pathlib.Path(sys.argv[1])
    OUT.mkdir(parents=True, exist_ok=True)
    write_types()
    write_aligned()
    for name, value in {
        "types.json": read_back(OUT / "types.gguf"),
        "names.json": names(),
        "fixtures.json": fixture_digests(fixtures),
    }.items():
        (OUT / name).write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    main()
