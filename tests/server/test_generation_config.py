"""Where a server's sampling defaults come from."""

import json
import os
import subprocess

import pytest


def draw(running, **fields):
    client = running.client()
    choice = client.completions.create(model=client.models.list().data[0].id, prompt="the quick",
                                       extra_body={"ignore_eos": True}, **fields).choices[0]
    return choice.text, choice.finish_reason


def test_a_folder_of_defaults_and_what_goes_over_them(start_server, tmp_path):
    (tmp_path / "generation_config.json").write_text(json.dumps(
        {"temperature": 0.0, "max_new_tokens": 30}))
    running = start_server("--generation-config", str(tmp_path),
                           "--override-generation-config", '{"max_new_tokens": 5}')
    # At temperature 0 seeds do not matter.
    assert draw(running, seed=1) == draw(running, seed=2)
    text, _ = draw(running, max_tokens=30)
    assert text == draw(running, max_tokens=5)[0], "the limit is the one that goes over"
    assert draw(running, seed=1, temperature=5) != draw(running, seed=2, temperature=5)


@pytest.mark.parametrize("flags, named", [
    (["--generation-config", "/no/such/folder"], "--generation-config"),
    (["--override-generation-config", "[1]"], "--override-generation-config"),
    (["--override-generation-config", '{"top_p": 7}'], "top_p"),
])
def test_what_is_wrong_is_named(flags, named):
    binary, model = os.environ.get("GODWIT_BINARY"), os.environ.get("GODWIT_MODEL")
    if not binary or not model:
        pytest.skip("GODWIT_BINARY and GODWIT_MODEL are not set")
    done = subprocess.run([binary, "serve", model, "--port", "0", *flags], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert named in done.stderr
