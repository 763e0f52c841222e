"""The server under the load of the `guidellm` benchmark, which must count what the server counts."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("guidellm")

REQUESTS = 12
PROMPT_TOKENS = 24
OUTPUT_TOKENS = 8


@pytest.fixture(scope="module")
def report(server, tmp_path_factory):
    """What guidellm measured with three streams at once, and how the server's counters moved."""
    counters = ("vllm:generation_tokens_total", "vllm:request_success_total")
    before = [server.metric(name) for name in counters]
    path = tmp_path_factory.mktemp("guidellm") / "report.json"
    subprocess.run(
        [sys.executable, "-m", "guidellm", "benchmark", "run", "--target", server.url,
         "--processor", os.environ["GODWIT_MODEL"],
         "--data", f"prompt_tokens={PROMPT_TOKENS},output_tokens={OUTPUT_TOKENS}",
         "--rate-type", "concurrent", "--rate", "3", "--max-requests", str(REQUESTS),
         "--disable-progress", "--disable-console-outputs", "--output-path", str(path)],
        check=True, timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
    moved = [server.metric(name) - old for name, old in zip(counters, before)]
    return json.loads(path.read_text())["benchmarks"][0], moved


def test_every_request_is_answered(report):
    benchmark, (_, successes) = report
    totals = benchmark["request_totals"]
    assert totals["successful"] == REQUESTS
    assert totals["errored"] == totals["incomplete"] == 0
    assert successes >= REQUESTS


def test_both_count_the_same_tokens(report):
    benchmark, (generated, successes) = report
    answers = benchmark["requests"]["successful"]
    assert [answer["output_tokens"] for answer in answers] == [OUTPUT_TOKENS] * REQUESTS
    # Its processes ask for a single token first, to see whether the server is there.
    assert generated - REQUESTS * OUTPUT_TOKENS == successes - REQUESTS


def test_times_are_those_of_a_stream(report):
    benchmark, _ = report
    for answer in benchmark["requests"]["successful"]:
        assert 0 < answer["time_to_first_token_ms"] <= answer["request_latency"] * 1000
