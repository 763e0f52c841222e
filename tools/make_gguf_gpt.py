#!/usr/bin/env python3
"""Writes tests/data/gguf_gpt: a small GGUF file for each of GPT-2's heirs that llama.cpp has, and what
llama.cpp answers on it.

Run it as make_gguf_golden.py, which it builds on; it takes no argument.

NAME.delta.gz   a model of tests/data/models as llama.cpp's converter would write it (bf16 matrices, f32
                vectors), as what differs from model.safetensors: little-endian pairs of u64, offset and
                length of what to copy from there; offset 2^64 - 1 says that the bytes follow here
llama_cpp.json  as of make_gguf_families.py
names.json      GGUF names of Hugging Face tensors, from gguf's own tables

llama.cpp's gelu is the one with tanh, whatever the model; where Hugging Face's code takes the error
function (falcon, gptneox, mpt), llama.cpp is further from it. It reads no biases in falcon, so that
falcon-plain has none, and can be compared with it alone.
"""

import gzip
import json
import pathlib
import struct
import tempfile

import gguf
import llama_cpp
import numpy

from make_gguf_families import EVERY, answers, tensor_names
from make_gguf_golden import FILE_TYPES, MODELS, TYPES, load_safetensors

OUT = pathlib.Path("tests/data/gguf_gpt")
LITERAL = 2**64 - 1
SHORTEST_COPY = 64

# (name, architecture, model, prompts that llama.cpp answers, positions at which it is Hugging Face's)
FILES = [
    ("gpt2", "gpt2", "gpt2", (1, 2, 4), EVERY),
    ("gptneox", "gptneox", "gpt_neox", (1, 2, 4), EVERY),
    ("bloom", "bloom", "bloom", (1, 2, 4), EVERY),
    ("mpt", "mpt", "mpt", (1, 2, 4), EVERY),
    ("falcon", "falcon", "falcon", (), 0),
    ("falcon-plain", "falcon", "falcon", (1, 2, 4), 0),
    ("falcon-new", "falcon", "falcon_new", (1, 2, 4), EVERY),
    ("nemotron", "nemotron", "nemotron", (1, 2, 4), EVERY),
]


def first_of(config, *names):
    """The value of the first of these fields that is there."""
    return next(config[name] for name in names if config.get(name) is not None)


def add_metadata(writer, config, architecture):
    """What llama.cpp's converter writes."""
    width = first_of(config, "hidden_size", "n_embd", "d_model")
    heads = first_of(config, "num_attention_heads", "n_head", "n_heads")
    lengths = {"falcon": 2048, "bloom": config.get("seq_length", 2048)}
    writer.add_context_length(lengths.get(architecture) or first_of(
        config, "n_positions", "max_position_embeddings", "max_seq_len"))
    writer.add_embedding_length(width)
    writer.add_block_count(first_of(config, "num_hidden_layers", "n_layer", "n_layers"))
    gives_inner = architecture in ("gptneox", "nemotron")
    writer.add_feed_forward_length(config["intermediate_size"] if gives_inner else 4 * width)
    writer.add_head_count(heads)
    writer.add_vocab_size(config["vocab_size"])  # which files with a tokenizer need not have
    writer.add_layer_norm_eps(first_of(config, "layer_norm_epsilon", "layer_norm_eps", "norm_eps"))
    if architecture in ("bloom", "nemotron"):
        writer.add_head_count_kv(config.get("num_key_value_heads", heads))
    if architecture == "falcon":
        writer.add_tensor_data_layout("jploski")
        writer.add_head_count_kv(heads_of_keys(config))
    if architecture == "mpt":
        writer.add_max_alibi_bias(config["attn_config"]["alibi_bias_max"])
    if architecture == "gptneox":
        part = config["rope_parameters"]["partial_rotary_factor"]
        writer.add_rope_dimension_count(int(part * (width // heads)))
        writer.add_parallel_residual(config["use_parallel_residual"])
    if architecture == "nemotron":
        writer.add_rope_dimension_count(int(config["partial_rotary_factor"] * width) // heads)
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)


def heads_of_keys(config):
    """Of Falcon's two forms."""
    return config["num_kv_heads"] if config["new_decoder_architecture"] else 1


def stacked(values, config, architecture):
    """A projection to queries, keys and values that is stored head by head, as all queries, all keys,
    all values."""
    heads = first_of(config, "num_attention_heads", "n_head")
    groups = heads_of_keys(config) if architecture == "falcon" else heads
    head = first_of(config, "hidden_size", "n_embd") // heads
    share = heads // groups
    rows = values.reshape(groups, share + 2, head, -1)
    parts = (rows[:, :share], rows[:, share], rows[:, share + 1])
    whole = numpy.concatenate([part.reshape(-1, rows.shape[-1]) for part in parts])
    return whole.reshape(values.shape)


def converted(name, values, config, architecture):
    """A tensor as llama.cpp wants it."""
    if architecture == "gpt2" and values.ndim == 2 and ".h." in name:
        return values.T
    if "query_key_value" in name:
        return stacked(values, config, architecture)
    if architecture == "nemotron" and name.endswith("norm.weight"):
        return values + numpy.float32(1)
    return values


def is_left_out(tensor, name):
    """falcon-plain has no biases but those of its norms."""
    plain = name == "falcon-plain" and tensor.endswith(".bias")
    return plain and "layernorm" not in tensor and "ln_f" not in tensor


def gguf_name(names, tensor, architecture):
    """What the converter calls a tensor; bloom's it looks up without their prefix."""
    known = tensor.removeprefix("transformer.") if architecture == "bloom" else tensor
    return names.get_name(known, (".weight", ".bias"))


def write_file(path, name, architecture, model):
    """Writes one model as GGUF."""
    config = json.loads((MODELS / model / "config.json").read_text())
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("model")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES.MOSTLY_BF16)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_tokenizer_model("none")
    add_metadata(writer, config, architecture)
    layers = first_of(config, "num_hidden_layers", "n_layer", "n_layers")
    names = tensor_names(architecture, layers)
    for tensor, stored in load_safetensors(MODELS / model / "model.safetensors").items():
        if is_left_out(tensor, name):
            continue
        values = numpy.ascontiguousarray(converted(tensor, stored, config, architecture))
        kind = TYPES.BF16 if values.ndim == 2 else TYPES.F32
        writer.add_tensor(gguf_name(names, tensor, architecture),
                          gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def rows_of(path):
    """The whole file in pieces: all before the first tensor, then each row of each matrix."""
    reader = gguf.GGUFReader(path)
    data = path.read_bytes()
    cuts = {0, len(data)}
    for tensor in reader.tensors:
        begin, size = int(tensor.data_offset), int(tensor.n_bytes)
        row = size // int(tensor.shape[1]) if len(tensor.shape) == 2 else size
        cuts.update(range(begin, begin + size + 1, row))
    ordered = sorted(cuts)
    return [data[begin:end] for begin, end in zip(ordered, ordered[1:])]


def write_delta(path, source, out):
    """The file as copies from `source` and as what is not there."""
    original = source.read_bytes()
    pieces = []  # [offset, length, literal bytes]
    for row in rows_of(path):
        offset = original.find(row) if len(row) >= SHORTEST_COPY else -1
        if pieces and offset >= 0 and pieces[-1][0] >= 0 and sum(pieces[-1][:2]) == offset:
            pieces[-1][1] += len(row)
        elif pieces and offset < 0 and pieces[-1][0] < 0:
            pieces[-1][1] += len(row)
            pieces[-1][2] += row
        else:
            pieces.append([offset, len(row), b"" if offset >= 0 else row])
    delta = b"".join(struct.pack("<QQ", offset if offset >= 0 else LITERAL, length) + literal
                     for offset, length, literal in pieces)
    out.write_bytes(gzip.compress(delta, 9, mtime=0))


def names_of_architectures():
    """GGUF names of each file's tensors, by architecture."""
    table = {}
    for _, architecture, model, _, _ in FILES:
        names = tensor_names(architecture, 3)
        for tensor in load_safetensors(MODELS / model / "model.safetensors"):
            table.setdefault(architecture, {})[tensor] = gguf_name(names, tensor, architecture)
    return table


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    recorded = {}
    for name, architecture, model, prompts, positions in FILES:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{name}.gguf"
            write_file(path, name, architecture, model)
            delta = OUT / f"{name}.delta.gz"
            write_delta(path, MODELS / model / "model.safetensors", delta)
            if prompts:
                recorded[name] = answers(path, model, prompts, positions)
            print(name, path.stat().st_size, delta.stat().st_size,
                  recorded.get(name, {}).get("distance_to_hugging_face"))
    versions = {"llama-cpp-python": llama_cpp.__version__,
                "system_info": llama_cpp.llama_print_system_info().decode().strip()}
    for file, value in {"llama_cpp.json": {"versions": versions, "files": recorded},
                        "names.json": names_of_architectures()}.items():
        (OUT / file).write_text(json.dumps(value, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
