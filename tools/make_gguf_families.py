#!/usr/bin/env python3
"""Writes tests/data/gguf_families: one small GGUF file for each architecture that llama.cpp has among
Llama's relatives, and what llama.cpp answers on it.

Run it as make_gguf_golden.py, which it builds on; it takes no argument.

NAME.gguf       a model of tests/data/models as llama.cpp's converter would write it: bf16 matrices,
                f32 vectors
llama_cpp.json  for each file: ids, greedy ids, margins and the logprobs along them, from llama.cpp on
                a copy with F32 weights, where it rounds nothing; and how far llama.cpp is from what
                Hugging Face's code gave for the model (golden.json)
names.json      GGUF names of Hugging Face tensors, from gguf's own tables

llama.cpp cannot say everything that the models do, so that some files differ from their model:

* gemma2, gemma3: scores are divided by sqrt(head size); what query_pre_attn_scalar adds is multiplied
  into q (the norm of q in gemma3)
* olmo3: llama.cpp ignores yarn_attn_factor, which its converter writes; the factor is in attn_factor
* exaone4-full: llama.cpp has windows for the size of 64 layers alone, so that it answers without them
* seed_oss: has no biases after attention and in the feed-forward block
* smollm3: every fourth layer has no positions, whatever the model says
* mistral, phi3: llama.cpp leaves the window out; it is compared where that hides nothing
"""

import json
import math
import pathlib
import tempfile

import gguf
import llama_cpp
import numpy

from make_gguf_golden import (FILE_TYPES, GREEDY_STEPS, MODELS, TYPES, golden_prompts, llama_greedy,
                              load_safetensors, logprobs_of_next, permute, plain_model_params,
                              write_dequantised)

OUT = pathlib.Path("tests/data/gguf_families")
CONTEXT = 256  # phi3_longrope's original length, up to which its short factors are in force

# (name, architecture, model, prompts that llama.cpp answers, positions at which it is Hugging Face's)
EVERY = 10**6
FILES = [
    ("mistral", "llama", "mistral", (1, 2, 4), 24),
    ("gemma2", "gemma2", "gemma2", (1, 2, 4), EVERY),
    ("gemma3", "gemma3", "gemma3_text", (1, 2, 4), EVERY),
    ("phi3", "phi3", "phi3", (1, 2), 48),
    ("phi3-longrope", "phi3", "phi3_longrope", (1, 2, 4), EVERY),
    ("olmo2", "olmo2", "olmo2", (1, 2, 4), EVERY),
    ("olmo3", "olmo2", "olmo3", (1, 2, 4), EVERY),
    ("glm4", "glm4", "glm4", (1, 2, 4), EVERY),
    ("granite", "granite", "granite", (1, 2, 4), EVERY),
    ("cohere2", "cohere2", "cohere2", (1, 2, 4), EVERY),
    ("exaone4", "exaone4", "exaone4", (), 0),
    ("exaone4-full", "exaone4", "exaone4", (1, 2, 4), 0),
    ("seed_oss", "seed_oss", "seed_oss", (1, 2, 4), 0),
    ("smollm3", "smollm3", "smollm3", (1, 2, 4), 0),
]
PERMUTED = ("llama", "granite", "smollm3")  # whose rotation turns neighbours, unlike Hugging Face's


def add_sizes(writer, config, architecture):
    """What all architectures have."""
    heads = config["num_attention_heads"]
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_vocab_size(config["vocab_size"])
    if "head_dim" in config:
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    if architecture in PERMUTED:
        writer.add_rope_dimension_count(config.get("head_dim") or config["hidden_size"] // heads)
    if "rms_norm_eps" in config:
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    else:
        writer.add_layer_norm_eps(config["layer_norm_eps"])


def add_rope(writer, config, architecture):
    """The rope of the layers that see everything; that of windows where it is another."""
    parameters = config["rope_parameters"]
    rope = parameters.get("full_attention", parameters)
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    if architecture != "gemma2":
        writer.add_rope_freq_base(rope["rope_theta"])
    if architecture == "gemma3":
        writer.add_rope_freq_base_swa(parameters["sliding_attention"]["rope_theta"])
    if architecture in ("glm4", "phi3", "cohere2"):
        part = rope.get("partial_rotary_factor", 1.0)
        writer.add_rope_dimension_count(int(head_dim * part))
    if architecture == "phi3":
        writer.add_rope_scaling_orig_ctx_len(config["original_max_position_embeddings"])
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
        usual = 0.1 * math.log(rope["factor"]) + 1
        writer.add_rope_scaling_attn_factors(rope["attention_factor"] / usual)
    if rope["rope_type"] == "longrope":
        original = config["original_max_position_embeddings"]
        factor = config["max_position_embeddings"] / original
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(factor) / math.log(original)))
        for kind in ("long", "short"):
            values = numpy.array(rope[f"{kind}_factor"], dtype=numpy.float32)
            writer.add_tensor(f"rope_factors_{kind}.weight", values)
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(rope, head_dim))


def llama3_factors(rope, head_dim):
    """What Llama 3's rule divides each frequency by."""
    frequencies = rope["rope_theta"] ** (-numpy.arange(0, head_dim, 2) / head_dim)
    turns = rope["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    kept = numpy.clip((turns - low) / (high - low), 0, 1)
    return (1 / (kept + (1 - kept) / rope["factor"])).astype(numpy.float32)


def add_family(writer, name, config, architecture):
    """What one architecture has of its own."""
    slides = [kind == "sliding_attention" for kind in config.get("layer_types", [])]
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if architecture == "granite":
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
    if architecture == "cohere2":
        writer.add_logit_scale(config["logit_scale"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    if architecture == "phi3":
        writer.add_sliding_window(config["sliding_window"] or 0)
    if architecture in ("gemma2", "cohere2", "gemma3") or name in ("olmo3", "exaone4"):
        writer.add_sliding_window(config["sliding_window"])
    if name in ("gemma3", "olmo3", "exaone4"):
        writer.add_sliding_window_pattern(slides)


def converted(name, values, config, architecture):
    """A tensor as llama.cpp wants it, or nothing where it has no place for it."""
    if architecture in PERMUTED and "q_proj" in name:
        return permute(values, config["num_attention_heads"])
    if architecture in PERMUTED and "k_proj" in name:
        return permute(values, config["num_key_value_heads"])
    if architecture == "seed_oss" and name.endswith(".bias") and "self_attn" not in name:
        return None
    if architecture == "seed_oss" and name.endswith("o_proj.bias"):
        return None
    if architecture in ("gemma2", "gemma3"):
        if name.endswith("norm.weight"):
            values = values + numpy.float32(1)
        if ("q_norm" if architecture == "gemma3" else "q_proj") in name:
            scale = math.sqrt(config["head_dim"] / config["query_pre_attn_scalar"])
            values = (values * scale).astype(numpy.float32)
    return values


def write_file(path, name, architecture, model):
    """Writes one model as GGUF."""
    config = json.loads((MODELS / model / "config.json").read_text())
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("model")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES.MOSTLY_BF16)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_tokenizer_model("none")
    add_sizes(writer, config, architecture)
    add_rope(writer, config, architecture)
    add_family(writer, name, config, architecture)
    names = tensor_names(architecture, config["num_hidden_layers"])
    for tensor, stored_values in load_safetensors(MODELS / model / "model.safetensors").items():
        values = converted(tensor, stored_values, config, architecture)
        if values is None:
            continue
        exact = values.ndim == 2 and not (architecture == "gemma2" and "q_proj" in tensor)
        kind = TYPES.BF16 if exact else TYPES.F32
        data = gguf.quants.quantize(numpy.ascontiguousarray(values), kind)
        writer.add_tensor(names.get_name(tensor, (".weight", ".bias")), data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensor_names(architecture, layers):
    """gguf's own table."""
    known = {name: key for key, name in gguf.MODEL_ARCH_NAMES.items()}
    return gguf.get_tensor_name_map(known[architecture], layers)


def open_llama(path):
    """llama.cpp with an f32 cache, at the context that the goldens are about."""
    llama_cpp.llama_cpp.llama_model_default_params = plain_model_params
    return llama_cpp.Llama(str(path), n_ctx=CONTEXT, logits_all=True, n_threads=1,
                           n_threads_batch=1, type_k=llama_cpp.GGML_TYPE_F32,
                           type_v=llama_cpp.GGML_TYPE_F32, verbose=False)


def distance_to_hugging_face(llama, model, positions):
    """The largest difference of a logprob of a next id, and of a logit after a prompt."""
    last = load_safetensors(MODELS / model / "golden.safetensors")["last_logits"]
    logprob_error = logit_error = 0.0
    for index, prompt in enumerate(golden_prompts(model)):
        ids = prompt["ids"]
        llama.reset()
        llama.eval(ids)
        logits = llama.scores[: len(ids)].astype(numpy.float64)
        errors = numpy.subtract(logprobs_of_next(logits, ids), prompt["next_logprobs"])[:positions]
        logprob_error = max(logprob_error, numpy.abs(errors).max(initial=0))
        if len(ids) <= positions:
            logit_error = max(logit_error, numpy.abs(logits[-1] - last[index]).max())
    return {"logprobs": float(logprob_error), "logits": float(logit_error)}


def answers(path, model, prompts, positions):
    """llama.cpp on a dequantised copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "f32.gguf"
        write_dequantised(path, copy)
        llama = open_llama(copy)
        result = {}
        if positions:
            result["distance_to_hugging_face"] = distance_to_hugging_face(llama, model, positions)
        ids = [golden_prompts(model)[index]["ids"] for index in prompts]
        result["answers"] = llama_greedy(llama, ids, GREEDY_STEPS)
        return result


def names_of_architectures():
    """GGUF names of each file's tensors, by architecture."""
    table = {}
    for _, architecture, model, _, _ in FILES:
        config = json.loads((MODELS / model / "config.json").read_text())
        names = tensor_names(architecture, config["num_hidden_layers"])
        for tensor in load_safetensors(MODELS / model / "model.safetensors"):
            if name := names.get_name(tensor, (".weight", ".bias")):
                table.setdefault(architecture, {})[tensor] = name
    return table


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    recorded = {}
    for name, architecture, model, prompts, positions in FILES:
        path = OUT / f"{name}.gguf"
        write_file(path, name, architecture, model)
        if prompts:
            recorded[name] = answers(path, model, prompts, positions)
            print(name, path.stat().st_size, recorded[name].get("distance_to_hugging_face"))
    versions = {"llama-cpp-python": llama_cpp.__version__,
                "system_info": llama_cpp.llama_print_system_info().decode().strip()}
    for file, value in {"llama_cpp.json": {"versions": versions, "files": recorded},
                        "names.json": names_of_architectures()}.items():
        text = json.dumps(value, separators=(",", ":"))
        (OUT / file).write_text(text + "\n")


if __name__ == "__main__":
    main()
