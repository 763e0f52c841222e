"""Measures llama.cpp as throughput.cc measures godwit: llama_cpp_throughput.py MODEL THREADS

Drives the C API of llama-cpp-python and prints one JSON line a measure.
"""

import ctypes
import json
import sys
import time

import llama_cpp

PREFILL_TOKENS, DECODE_TOKENS, PROMPT_TOKENS, SEQUENCES, CONTEXT = 512, 128, 32, 16, 1024


def prompt(sequence, count):
    """The same tokens as throughput.cc takes."""
    return [1000 + (sequence * 131 + i * 7) % 20000 for i in range(count)]


class Peer:
    def __init__(self, path, threads):
        llama_cpp.llama_log_set(QUIET, ctypes.c_void_p(0))
        self.model = llama_cpp.llama_model_load_from_file(
            path.encode(), llama_cpp.llama_model_default_params()
        )
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = CONTEXT * SEQUENCES
        params.n_batch = 2048
        params.n_ubatch = 512
        params.n_seq_max = SEQUENCES
        params.n_threads = params.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.batch = llama_cpp.llama_batch_init(2048, 0, 1)
        self.sampler = llama_cpp.llama_sampler_init_greedy()

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)

    def decode(self, rows):
        """Runs one llama_decode over rows (token, position, sequence, wants_logits)."""
        batch = self.batch
        batch.n_tokens = len(rows)
        for i, (token, position, sequence, wants_logits) in enumerate(rows):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wants_logits
        if llama_cpp.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode failed")

    def sample(self, row):
        return llama_cpp.llama_sampler_sample(self.sampler, self.context, row)

    def prefill_speed(self):
        self.clear()
        tokens = prompt(0, PREFILL_TOKENS)
        begin = time.perf_counter()
        self.decode([(token, i, 0, i + 1 == len(tokens)) for i, token in enumerate(tokens)])
        self.sample(-1)
        return PREFILL_TOKENS / (time.perf_counter() - begin)

    def decode_speed(self, sequences, steps):
        """Prefills short prompts, then decodes all sequences in one batch a step."""
        self.clear()
        tokens = []
        for sequence in range(sequences):
            rows = prompt(sequence, PROMPT_TOKENS)
            self.decode(
                [(token, i, sequence, i + 1 == len(rows)) for i, token in enumerate(rows)]
            )
            tokens.append(self.sample(-1))
        begin = time.perf_counter()
        for position in range(PROMPT_TOKENS, PROMPT_TOKENS + steps):
            self.decode([(token, position, i, True) for i, token in enumerate(tokens)])
            tokens = [self.sample(i) for i in range(sequences)]
        return sequences * steps / (time.perf_counter() - begin)


@llama_cpp.llama_log_callback
def QUIET(level, text, data):
    del level, text, data


def main():
    peer = Peer(sys.argv[1], int(sys.argv[2]))
    peer.decode_speed(SEQUENCES, 4)  # touches the weights
    for measure, speed in (
        ("prefill_512", peer.prefill_speed),
        ("decode_128", lambda: peer.decode_speed(1, DECODE_TOKENS - 1)),
        ("decode_128_x16", lambda: peer.decode_speed(SEQUENCES, DECODE_TOKENS - 1)),
    ):
        print(json.dumps({"measure": measure, "tokens_per_second": round(speed(), 2)}), flush=True)


if __name__ == "__main__":
    main()
