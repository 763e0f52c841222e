#!/usr/bin/env python3
"""Writes tests/data/gguf_split: a file of tests/data/gguf cut into parts by the gguf package.

Run it as make_gguf_golden.py, which names what it needs. Each PART.delta.gz is what differs from the
whole file, as make_gguf_gpt.py has it. llama.cpp must be able to open the parts.
"""

import pathlib
import tempfile

import gguf
import llama_cpp

from make_gguf_gpt import write_delta

WHOLE = pathlib.Path("tests/data/gguf/qwen3-q4_0.gguf")
OUT = pathlib.Path("tests/data/gguf_split")
TENSORS_A_PART = 12


def write_parts(folder):
    """The model again, some tensors a file."""
    reader = gguf.GGUFReader(WHOLE)
    writer = gguf.GGUFWriter(folder / "qwen3-q4_0.gguf",
                             reader.fields["general.architecture"].contents(),
                             split_max_tensors=TENSORS_A_PART)
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            element = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=element)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_parts(folder)
        parts = sorted(folder.iterdir())
        llama_cpp.Llama(str(parts[0]), n_ctx=32, verbose=False)
        for part in parts:
            write_delta(part, WHOLE, OUT / f"{part.stem}.delta.gz")
            print(part.name, part.stat().st_size)


if __name__ == "__main__":
    main()
