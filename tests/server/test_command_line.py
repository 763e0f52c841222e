"""Values of flags that the program refuses before it loads anything."""

import os
import subprocess

import pytest


@pytest.mark.parametrize("arguments", [
    ["serve", "MODEL", "--max-logprobs", "-1"],
    ["serve", "MODEL", "--shutdown-timeout", "-1"],
    ["run", "MODEL", "hi", "--max-tokens", "0"],
])
def test_impossible_numbers_are_refused_by_name(arguments):
    binary, model = os.environ.get("GODWIT_BINARY"), os.environ.get("GODWIT_MODEL")
    if not binary or not model:
        pytest.skip("GODWIT_BINARY and GODWIT_MODEL are not set")
    command = [binary] + [model if word == "MODEL" else word for word in arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert arguments[-2] in done.stderr


def test_run_says_that_its_answer_cannot_be_written():
    binary, model = os.environ.get("GODWIT_BINARY"), os.environ.get("GODWIT_MODEL")
    if not binary or not model:
        pytest.skip("GODWIT_BINARY and GODWIT_MODEL are not set")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([binary, "run", model, "hi", "--max-tokens", "2"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert "cannot write" in done.stderr
