"""`godwit bench` against a running server, and alone."""

import json
import os
import re
import subprocess

import pytest


def bench(*arguments, cwd=None):
    binary, model = os.environ.get("GODWIT_BINARY"), os.environ.get("GODWIT_MODEL")
    if not binary or not model:
        pytest.skip("GODWIT_BINARY and GODWIT_MODEL are not set")
    words = [model if word == "MODEL" else str(word) for word in arguments]
    return subprocess.run([binary, "bench", *words], capture_output=True, text=True, timeout=120,
                          cwd=cwd)


def row(table, label):
    return re.search(rf"^{re.escape(label)}: +([0-9.]+) *$", table, re.MULTILINE)[1]


@pytest.mark.parametrize("backend", ["openai", "openai-chat"])
def test_serve_counts_what_the_server_counts(start_server, tmp_path, backend):
    server = start_server()
    done = bench("serve", "--base-url", server.url, "--backend", backend, "--num-prompts", 20,
                 "--random-input-len", 30, "--random-output-len", 12, "--random-range-ratio", 0.5,
                 "--request-rate", 200, "--max-concurrency", 4, "--save-result", "--save-detailed",
                 "--result-filename", "result.json", "--metadata", "note=x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["completed"] == 20 and result["failed"] == 0 and result["note"] == "x"
    assert result["max_concurrent_requests"] <= 4
    assert result["total_input_tokens"] == server.metric("vllm:prompt_tokens_total")
    assert result["total_output_tokens"] == server.metric("vllm:generation_tokens_total")
    assert result["total_input_tokens"] == sum(result["input_lens"])
    assert result["total_output_tokens"] == sum(result["output_lens"])
    assert 0 < result["median_ttft_ms"] <= result["p99_ttft_ms"] <= result["p99_e2el_ms"]
    assert row(done.stdout, "Successful requests") == "20"
    assert row(done.stdout, "Total input tokens") == str(result["total_input_tokens"])
    assert row(done.stdout, "Total generated tokens") == str(result["total_output_tokens"])
    assert row(done.stdout, "Mean TTFT (ms)") == f"{result['mean_ttft_ms']:.2f}"


def test_serve_with_ignore_eos_gets_every_token(server):
    done = bench("serve", "--base-url", server.url, "--num-prompts", 5, "--random-input-len", 10,
                 "--random-output-len", 7, "--ignore-eos")
    assert row(done.stdout, "Total input tokens") == "50"
    assert row(done.stdout, "Total generated tokens") == "35"


def test_serve_says_why_requests_failed(server):
    done = bench("serve", "--base-url", server.url, "--num-prompts", 2, "--random-input-len", 5000,
                 "--random-output-len", 7)
    assert done.returncode == 1
    assert row(done.stdout, "Failed requests") == "2"
    assert "status 400" in done.stderr
    nobody = bench("serve", "--base-url", "http://127.0.0.1:1", "--num-prompts", 1)
    assert nobody.returncode == 1 and "refused" in nobody.stderr


def test_throughput(tmp_path):
    done = bench("throughput", "MODEL", "--num-prompts", 6, "--input-len", 9, "--output-len", 5,
                 "--output-json", tmp_path / "t.json")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Throughput: [\d.]+ requests/s, [\d.]+ total tokens/s, "
                     r"[\d.]+ output tokens/s$", done.stdout, re.MULTILINE)
    result = json.loads((tmp_path / "t.json").read_text())
    assert result["num_requests"] == 6 and result["total_num_tokens"] == 6 * (9 + 5)


def test_latency(tmp_path):
    done = bench("latency", "MODEL", "--num-iters", 3, "--num-iters-warmup", 1, "--output-len", 4,
                 "--batch-size", 2, "--output-json", tmp_path / "l.json")
    assert done.returncode == 0, done.stderr
    assert "Avg latency: " in done.stdout and "99% percentile latency: " in done.stdout
    result = json.loads((tmp_path / "l.json").read_text())
    assert len(result["latencies"]) == 3 and set(result["percentiles"]) >= {"50", "99"}


def test_startup(tmp_path):
    done = bench("startup", "MODEL", "--num-iters-cold", 1, "--num-iters-warmup", 0,
                 "--num-iters-warm", 2, "--output-json", tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "s.json").read_text())
    assert len(result["cold_startup_times"]) == 1 and len(result["warm_startup_times"]) == 2
