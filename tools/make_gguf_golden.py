#!/usr/bin/env python3
"""Writes tests/data/gguf: small GGUF files of every supported tensor type, and what a model answers
on them, once from their dequantised weights and once from llama.cpp.

Run it in an environment of its own, from the root of the tree:

    python3 -m venv VENV
    CMAKE_ARGS=-DGGML_NATIVE=ON VENV/bin/pip install gguf==0.19.0 numpy==2.4.6 jinja2==3.1.6 \\
        llama-cpp-python==0.3.36
    VENV/bin/python tools/make_gguf_golden.py DEFAULT_MODEL.gguf [NAME...]

With names, only these files are made again and the rest of llama_cpp.json is kept.

NAME.gguf       a model of tests/data/models as llama.cpp's converter would write it; "wide" is a
                llama of random weights that is 256 wide, because rows of the K types must be
NAME.json       prompts (ids), logits after the last id, logprob of each next id, greedy ids and
                margins (largest minus second logit), from a float64 forward over the weights as
                gguf.quants.dequantize gives them
default.json    the same for the default model along llama.cpp's greedy ids, in float32, without
                logits
llama_cpp.json  greedy ids, margins and logprobs along them from llama.cpp, for every file and for
                the default model: "stored" on the file itself, where llama.cpp rounds activations
                to what the weights' type pairs with; "dequantised" on a copy with F32 weights,
                where it rounds nothing. It cannot multiply with Q8_K, so there is no "stored" of it

The forward is ours, so it first proves itself: on every model written as F32 it must give the
logits and logprobs that Hugging Face's code gave (golden.json and golden.safetensors of the model).
qwen2 has sliding windows of 16, which GGUF cannot say; it is compared where a window hides nothing.
"""

import ctypes
import importlib.metadata
import json
import pathlib
import struct
import sys
import tempfile

import gguf
import jinja2
import llama_cpp
import numpy

MODELS = pathlib.Path("tests/data/models")
OUT = pathlib.Path("tests/data/gguf")
TYPES = gguf.GGMLQuantizationType
FILE_TYPES = gguf.LlamaFileType

# (name, model, type of matrices, type of the embedding, types of other matrices by a part of their
# names). 96, llama_tied's width, is an odd number
# of quantisation blocks.
FILES = [
    ("llama-f16", "llama_tied", TYPES.F16, TYPES.F16),
    ("llama-bf16", "llama_tied", TYPES.BF16, TYPES.BF16),
    ("llama-q8_0", "tiny-dense", TYPES.Q8_0, TYPES.Q8_0),
    ("llama-q4_0", "tiny-dense", TYPES.Q4_0, TYPES.Q4_0),
    ("llama-q4_1", "llama_tied", TYPES.Q4_1, TYPES.Q8_0),
    ("qwen2-q8_0", "qwen2", TYPES.Q8_0, TYPES.Q8_0),
    ("qwen3-f32", "qwen3", TYPES.F32, TYPES.F32),
    ("qwen3-f16", "qwen3", TYPES.F16, TYPES.F16),
    ("qwen3-bf16", "qwen3", TYPES.BF16, TYPES.BF16),
    ("qwen3-q8_0", "qwen3", TYPES.Q8_0, TYPES.Q8_0),
    ("qwen3-q4_0", "qwen3", TYPES.Q4_0, TYPES.Q4_0),
    ("qwen3-q4_1", "qwen3", TYPES.Q4_1, TYPES.Q4_1),
    ("qwen3-q5_0", "qwen3", TYPES.Q5_0, TYPES.Q5_0),
    ("qwen3-q5_1", "qwen3", TYPES.Q5_1, TYPES.Q5_1),
    ("wide-q2_k", "wide", TYPES.Q2_K, TYPES.Q2_K),
    ("wide-q3_k", "wide", TYPES.Q3_K, TYPES.Q3_K),
    ("wide-q4_k", "wide", TYPES.Q4_K, TYPES.Q4_K),
    ("wide-q5_k", "wide", TYPES.Q5_K, TYPES.Q5_K),
    ("wide-q6_k", "wide", TYPES.Q6_K, TYPES.Q6_K),
    ("wide-q8_k", "wide", TYPES.Q8_K, TYPES.F16),
    # As in a Q4_K_M: more bits for the head, the values and some of the other matrices.
    ("wide-mixed", "wide", TYPES.Q4_K, TYPES.Q4_K,
     {"lm_head": TYPES.Q6_K, "v_proj": TYPES.Q6_K, "0.mlp.down_proj": TYPES.Q5_0,
      "1.mlp.down_proj": TYPES.Q8_0, "1.self_attn.o_proj": TYPES.Q3_K}),
]
WIDE_CONFIG = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 64, "vocab_size": 256,
    "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_parameters": {"rope_theta": 1e4},
}
WIDE_PROMPT_LENGTHS = (5, 17, 33, 48, 60)
PROMPTS = (1, 2, 4)  # of the models' five
GREEDY_STEPS = 16
DEFAULT_STEPS = 32
DEFAULT_PROMPTS = [
    "What is the capital of France?",
    "Write a haiku about the sea.",
    "Explain in two sentences why the sky is blue.",
    "List three fruits and one vegetable.",
    "def fibonacci(n):\n    # finish this Python function\n",
    "Grüße aus München! Wie sagt man \"good morning\" auf Deutsch?",
]
WINDOW = 16  # of qwen2's last layers


def load_safetensors(path):
    """name -> float32 array, of a file with BF16 and F32 tensors."""
    data = path.read_bytes()
    (header_size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + header_size])
    body = data[8 + header_size :]
    tensors = {}
    for name, item in header.items():
        if name == "__metadata__":
            continue
        raw = body[slice(*item["data_offsets"])]
        if item["dtype"] == "BF16":
            values = (numpy.frombuffer(raw, numpy.uint16).astype(numpy.uint32) << 16).view(
                numpy.float32
            )
        else:
            assert item["dtype"] == "F32", item["dtype"]
            values = numpy.frombuffer(raw, numpy.float32)
        tensors[name] = values.reshape(item["shape"])
    return tensors


def wide_weights():
    """The weights of "wide" by Hugging Face's names; the head is used where a file has its type."""
    config, random = WIDE_CONFIG, numpy.random.default_rng(23)
    width, inner = config["hidden_size"], config["intermediate_size"]
    head_dim = config["head_dim"]

    def matrix(rows, columns, size=1.0):
        values = random.standard_normal((rows, columns)) * (size / numpy.sqrt(columns))
        return values.astype(numpy.float32)

    def norm():
        return (1 + 0.1 * random.standard_normal(width)).astype(numpy.float32)

    tensors = {"model.embed_tokens.weight": matrix(config["vocab_size"], width, 3.0),
               "lm_head.weight": matrix(config["vocab_size"], width, 3.0),
               "model.norm.weight": norm()}
    for index in range(config["num_hidden_layers"]):
        layer = f"model.layers.{index}"
        tensors |= {
            f"{layer}.input_layernorm.weight": norm(),
            f"{layer}.post_attention_layernorm.weight": norm(),
            f"{layer}.self_attn.q_proj.weight": matrix(4 * head_dim, width),
            f"{layer}.self_attn.k_proj.weight": matrix(head_dim, width),
            f"{layer}.self_attn.v_proj.weight": matrix(head_dim, width),
            f"{layer}.self_attn.o_proj.weight": matrix(width, 4 * head_dim),
            f"{layer}.mlp.gate_proj.weight": matrix(inner, width),
            f"{layer}.mlp.up_proj.weight": matrix(inner, width),
            f"{layer}.mlp.down_proj.weight": matrix(width, inner),
        }
    return tensors


def read_config(model):
    return WIDE_CONFIG if model == "wide" else json.loads(
        (MODELS / model / "config.json").read_text())


def read_weights(model):
    if model == "wide":
        return wide_weights()
    return load_safetensors(MODELS / model / "model.safetensors")


def ggml_function(name):
    library = pathlib.Path(llama_cpp.__file__).parent / "lib" / "libggml-base.so"
    return getattr(ctypes.CDLL(str(library)), name)


def quantize(values, kind):
    """Blocks of a matrix. The gguf package cannot make those of 256; ggml's library can."""
    if not kind.name.endswith("_K"):
        return gguf.quants.quantize(values, kind)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    rows, columns = values.shape
    blocks = numpy.zeros((rows, columns // elements * size), numpy.uint8)
    source = values.ctypes.data_as(ctypes.c_void_p)
    target = blocks.ctypes.data_as(ctypes.c_void_p)
    if kind == TYPES.Q8_K:
        ggml_function("quantize_row_q8_K_ref")(source, target, ctypes.c_int64(values.size))
        return blocks
    chunk = ggml_function("ggml_quantize_chunk")
    chunk.restype = ctypes.c_size_t
    written = chunk(ctypes.c_int(kind), source, target, ctypes.c_int64(0), ctypes.c_int64(rows),
                    ctypes.c_int64(columns), None)
    assert written == blocks.size
    return blocks


def dequantize(data, kind):
    if kind != TYPES.Q8_K:
        return gguf.quants.dequantize(data, kind)
    values = numpy.empty((data.shape[0], data.shape[1] // 292 * 256), numpy.float32)
    data = numpy.ascontiguousarray(data)
    ggml_function("dequantize_row_q8_K")(
        data.ctypes.data_as(ctypes.c_void_p), values.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_int64(values.size))
    return values


def permute(values, heads):
    """Interleaves the two halves of each head's rows, as llama's rotation in ggml wants."""
    shape = values.shape
    halves = values.reshape(heads, 2, shape[0] // heads // 2, *shape[1:])
    return halves.swapaxes(1, 2).reshape(shape)


def add_tokenizer(writer, model):
    """Writes the vocabulary, or that there is none."""
    path = MODELS / model / "tokenizer.json"
    if not path.exists():
        writer.add_tokenizer_model("none")
        return
    tokenizer = json.loads(path.read_text())
    tokens = {index: text for text, index in tokenizer["model"]["vocab"].items()}
    kinds = {index: gguf.TokenType.NORMAL for index in tokens}
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]] = added["content"]
        kinds[added["id"]] = gguf.TokenType.CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list([tokens[index] for index in range(len(tokens))])
    writer.add_token_types([kinds[index] for index in range(len(tokens))])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    config = json.loads((MODELS / model / "tokenizer_config.json").read_text())
    ids = {text: index for index, text in tokens.items()}
    writer.add_eos_token_id(ids[config["eos_token"]])
    writer.add_pad_token_id(ids[config["pad_token"]])
    writer.add_add_bos_token(False)
    writer.add_chat_template(config["chat_template"])


def write_file(path, model, kind, embedding_kind, other_kinds=None):
    """Writes one model as GGUF."""
    config = read_config(model)
    architecture = config["model_type"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("model")
    writer.add_name(model)
    file_type = {TYPES.F32: "ALL_F32", TYPES.Q3_K: "MOSTLY_Q3_K_M", TYPES.Q4_K: "MOSTLY_Q4_K_M",
                 TYPES.Q5_K: "MOSTLY_Q5_K_M", TYPES.Q8_K: "GUESSED"}
    writer.add_file_type(FILE_TYPES[file_type.get(kind, f"MOSTLY_{kind.name}")])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    if architecture == "llama":
        writer.add_rope_dimension_count(head_dim)
    add_tokenizer(writer, model)

    names = gguf.get_tensor_name_map(
        gguf.MODEL_ARCH[architecture.upper()], config["num_hidden_layers"]
    )
    for name, values in read_weights(model).items():
        if name == "lm_head.weight" and model == "wide" and other_kinds is None:
            continue
        if architecture == "llama" and "q_proj" in name:
            values = permute(values, heads)
        elif architecture == "llama" and "k_proj" in name:
            values = permute(values, kv_heads)
        stored = kind if values.ndim == 2 else TYPES.F32
        stored = embedding_kind if "embed_tokens" in name else stored
        for part, other in (other_kinds or {}).items():
            stored = other if part in name else stored
        data = quantize(numpy.ascontiguousarray(values), stored)
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_dequantised(path, copy):
    """Writes a copy of a GGUF file with all weights as F32 and without its vocabulary."""
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(copy, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if not name.startswith(("GGUF.", "general.", "tokenizer.")):
            writer.add_key_value(name, field.contents(), field.types[0])
    writer.add_file_type(FILE_TYPES.ALL_F32)
    writer.add_tokenizer_model("none")
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        shape = [int(size) for size in reversed(tensor.shape)]
        writer.add_tensor(tensor.name, values.astype(numpy.float32).reshape(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Reference:
    """A forward over the dequantised weights of a GGUF file."""

    def __init__(self, path, dtype):
        reader = gguf.GGUFReader(path)
        self.fields = {name: field.contents() for name, field in reader.fields.items()
                       if "tokenizer.ggml" not in name}
        self.architecture = self.fields["general.architecture"]
        self.dtype = dtype
        self.tensors = {}
        for tensor in reader.tensors:
            values = dequantize(tensor.data, tensor.tensor_type)
            shape = [int(size) for size in reversed(tensor.shape)]
            self.tensors[tensor.name] = values.reshape(shape).astype(dtype)

    def field(self, name):
        return self.fields[f"{self.architecture}.{name}"]

    def linear(self, name, values):
        result = values @ self.tensors[f"{name}.weight"].T
        bias = self.tensors.get(f"{name}.bias")
        return result if bias is None else result + bias

    def norm(self, name, values):
        weight = self.tensors.get(f"{name}.weight")
        if weight is None:  # only qwen3 norms queries and keys
            return values
        square = numpy.mean(values * values, axis=-1, keepdims=True)
        return values / numpy.sqrt(square + self.field("attention.layer_norm_rms_epsilon")) * weight

    def rotate(self, values):
        """values: [tokens, heads, head_dim]. llama turns neighbours, qwen turns halves."""
        half = values.shape[-1] // 2
        frequencies = float(self.field("rope.freq_base")) ** (-numpy.arange(half) / half)
        angles = numpy.outer(numpy.arange(len(values)), frequencies)[:, None, :]
        cos, sin = numpy.cos(angles).astype(self.dtype), numpy.sin(angles).astype(self.dtype)
        if self.architecture == "llama":
            first, second = values[..., 0::2], values[..., 1::2]
        else:
            first, second = values[..., :half], values[..., half:]
        turned = (first * cos - second * sin, second * cos + first * sin)
        if self.architecture == "llama":
            return numpy.stack(turned, axis=-1).reshape(values.shape)
        return numpy.concatenate(turned, axis=-1)

    def attention(self, block, values):
        heads, kv_heads = self.field("attention.head_count"), self.field("attention.head_count_kv")
        tokens = len(values)
        q = self.linear(f"{block}.attn_q", values).reshape(tokens, heads, -1)
        k = self.linear(f"{block}.attn_k", values).reshape(tokens, kv_heads, -1)
        v = self.linear(f"{block}.attn_v", values).reshape(tokens, kv_heads, -1)
        q = self.rotate(self.norm(f"{block}.attn_q_norm", q))
        k = self.rotate(self.norm(f"{block}.attn_k_norm", k))
        k = numpy.repeat(k, heads // kv_heads, axis=1)
        v = numpy.repeat(v, heads // kv_heads, axis=1)
        scores = numpy.einsum("qhd,khd->hqk", q, k) / numpy.sqrt(self.dtype(q.shape[-1]))
        scores[:, numpy.triu(numpy.ones((tokens, tokens), dtype=bool), 1)] = -numpy.inf
        scores = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = numpy.einsum("hqk,khd->qhd", scores, v).reshape(tokens, -1)
        return self.linear(f"{block}.attn_output", mixed)

    def logits(self, ids):
        """[tokens, vocabulary]"""
        hidden = self.tensors["token_embd.weight"][ids]
        for index in range(self.field("block_count")):
            block = f"blk.{index}"
            hidden = hidden + self.attention(block, self.norm(f"{block}.attn_norm", hidden))
            values = self.norm(f"{block}.ffn_norm", hidden)
            gate = self.linear(f"{block}.ffn_gate", values)
            inner = gate / (1 + numpy.exp(-gate)) * self.linear(f"{block}.ffn_up", values)
            hidden = hidden + self.linear(f"{block}.ffn_down", inner)
        head = "output" if "output.weight" in self.tensors else "token_embd"
        return self.linear(head, self.norm("output_norm", hidden))


def logprobs_of_next(logits, ids):
    """Logprob of each id after the first."""
    top = logits.max(axis=-1, keepdims=True)
    normed = logits - top - numpy.log(numpy.exp(logits - top).sum(axis=-1, keepdims=True))
    return [float(normed[index, following]) for index, following in enumerate(ids[1:])]


def choice(row):
    """The largest logit's id and its lead over the second."""
    second, first = numpy.argsort(row, kind="stable")[-2:]
    return int(first), float(row[first]) - float(row[second])


def rounded(values):
    return [round(float(value), 6) for value in values]


def greedy(next_row, ids, steps):
    """Ids and margins of greedy decoding; next_row(new ids) gives the logits after them."""
    chosen, margins, new = [], [], list(ids)
    for _ in range(steps):
        best, margin = choice(next_row(new))
        chosen.append(best)
        margins.append(margin)
        new = [best]
    return {"greedy_ids": chosen, "greedy_margins": rounded(margins)}


def golden_prompts(model):
    if model == "wide":
        random = numpy.random.default_rng(29)
        return [{"ids": random.integers(0, WIDE_CONFIG["vocab_size"], length).tolist()}
                for length in WIDE_PROMPT_LENGTHS]
    return json.loads((MODELS / model / "golden.json").read_text())["prompts"]


def check_against_hugging_face(model):
    """Stops when the forward over an F32 file is not Hugging Face's; returns the largest errors."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "f32.gguf"
        write_file(path, model, TYPES.F32, TYPES.F32)
        reference = Reference(path, numpy.float64)
    last = load_safetensors(MODELS / model / "golden.safetensors")["last_logits"]
    logit_error = logprob_error = 0.0
    for index, prompt in enumerate(golden_prompts(model)):
        ids = prompt["ids"]
        seen = min(len(ids), WINDOW if model == "qwen2" else len(ids))
        logits = reference.logits(ids)
        errors = numpy.subtract(logprobs_of_next(logits, ids), prompt["next_logprobs"])[:seen]
        logprob_error = max(logprob_error, numpy.abs(errors).max(initial=0))
        if seen == len(ids):
            logit_error = max(logit_error, numpy.abs(logits[-1] - last[index]).max())
    assert logit_error < 1e-4 and logprob_error < 1e-4, (model, logit_error, logprob_error)
    return {"logits": float(logit_error), "logprobs": float(logprob_error)}


def file_golden(path, model):
    """What the reference says about one file."""
    reference = Reference(path, numpy.float64)
    prompts, rows = [], []
    for index in PROMPTS:
        ids = golden_prompts(model)[index]["ids"]
        logits = reference.logits(ids)
        rows.append(logits[-1])
        tokens = []

        def next_row(new, tokens=tokens):
            tokens.extend(new)
            return reference.logits(tokens)[-1]

        prompts.append({
            "ids": ids,
            "last_logits": rounded(logits[-1]),
            "next_logprobs": rounded(logprobs_of_next(logits, ids)),
            **greedy(next_row, ids, GREEDY_STEPS),
        })
    return {"logit_std": round(float(numpy.std(rows)), 6), "prompts": prompts}


def plain_model_params(defaults=llama_cpp.llama_model_default_params):
    """Keeps weights as stored: repacked for AMX, this llama.cpp crashes on some machines."""
    params = defaults()
    params.use_extra_bufts = False
    return params


def open_llama(path):
    """llama.cpp with an f32 cache, so that only weights and activations are quantised."""
    llama_cpp.llama_cpp.llama_model_default_params = plain_model_params
    return llama_cpp.Llama(str(path), n_ctx=512, logits_all=True, n_threads=1, n_threads_batch=1,
                           type_k=llama_cpp.GGML_TYPE_F32, type_v=llama_cpp.GGML_TYPE_F32,
                           verbose=False)


def llama_greedy(llama, prompts, steps):
    """Greedy ids and margins for each prompt, and the logprobs of its and their next ids."""
    answers = []
    for ids in prompts:
        llama.reset()

        def next_row(new):
            llama.eval(new)
            return llama.scores[llama.n_tokens - 1]

        answer = {"ids": ids, **greedy(next_row, ids, steps)}
        logits = llama.scores[: llama.n_tokens].astype(numpy.float64)
        logprobs = logprobs_of_next(logits, ids + answer["greedy_ids"])
        answers.append({**answer, "next_logprobs": rounded(logprobs)})
    return answers


def llama_answers(path, prompts, steps):
    """llama.cpp on the file and on a dequantised copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "f32.gguf"
        write_dequantised(path, copy)
        answers = {"dequantised": llama_greedy(open_llama(copy), prompts, steps)}
    if not any(tensor.tensor_type == TYPES.Q8_K for tensor in gguf.GGUFReader(path).tensors):
        answers["stored"] = llama_greedy(open_llama(path), prompts, steps)
    return answers


def check_vocabulary(path, model):
    """Stops when llama.cpp's ids are not those of the tokenizer that the model came with."""
    llama = open_llama(path)
    for prompt in golden_prompts(model):
        if "text" in prompt:
            ids = llama.tokenize(prompt["text"].encode(), add_bos=False, special=True)
            assert ids == prompt["ids"], (path, prompt["text"])


def default_prompts(path):
    """Real prompts: the template as jinja2 renders it, the ids from llama.cpp."""
    llama = open_llama(path)
    template = jinja2.Environment().from_string(llama.metadata["tokenizer.chat_template"])
    texts = [template.render(messages=[{"role": "user", "content": content}],
                             add_generation_prompt=True)
             for content in DEFAULT_PROMPTS]
    ids = [llama.tokenize(text.encode(), add_bos=False, special=True) for text in texts]
    return texts, ids


def default_golden(path, answers):
    """The reference along llama.cpp's ids: logprob of each next id, and its choice at each step."""
    reference = Reference(path, numpy.float32)
    prompts = []
    for answer in answers:
        ids = answer["ids"] + answer["greedy_ids"]
        logits = reference.logits(ids)
        choices = [choice(row) for row in logits[len(answer["ids"]) - 1 : -1]]
        prompts.append({
            "ids": ids,
            "prompt_len": len(answer["ids"]),
            "next_logprobs": rounded(logprobs_of_next(logits.astype(numpy.float64), ids)),
            "choices": [best for best, _ in choices],
            "margins": rounded(margin for _, margin in choices),
        })
    return {"prompts": prompts}


def write_json(name, value):
    (OUT / name).write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def main():
    default_model, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    OUT.mkdir(parents=True, exist_ok=True)
    for model in sorted({model for _, model, *_ in FILES} - {"wide"}):
        print(model, "against Hugging Face:", check_against_hugging_face(model))
    answers = {}
    for name, model, kind, embedding_kind, *other_kinds in FILES:
        if names and name not in names:
            continue
        path = OUT / f"{name}.gguf"
        write_file(path, model, kind, embedding_kind, *other_kinds)
        write_json(f"{name}.json", file_golden(path, model))
        if kind != TYPES.Q8_K:
            check_vocabulary(path, model)
        prompts = [golden_prompts(model)[index]["ids"] for index in PROMPTS]
        answers[name] = llama_answers(path, prompts, GREEDY_STEPS)
        print(name, path.stat().st_size)
    if names:
        recorded = json.loads((OUT / "llama_cpp.json").read_text())
        recorded["files"] |= answers
        write_json("llama_cpp.json", recorded)
        return
    texts, prompts = default_prompts(default_model)
    default = llama_answers(default_model, prompts, DEFAULT_STEPS)
    write_json("llama_cpp.json", {
        "versions": {
            "llama-cpp-python": llama_cpp.__version__,
            "system_info": llama_cpp.llama_print_system_info().decode().strip(),
            "gguf": importlib.metadata.version("gguf"),
            "numpy": numpy.__version__,
        },
        "files": answers,
        "default_model": {"file": default_model.name, "texts": texts, **default},
    })
    write_json("default.json", default_golden(default_model, default["stored"]))


if __name__ == "__main__":
    main()
