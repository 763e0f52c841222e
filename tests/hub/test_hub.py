"""Models by name: godwit and huggingface_hub download from one server and use each other's cache.

GODWIT_BINARY names the program and GODWIT_MODEL a model folder, which the server offers; without them
the tests are skipped.
"""

import json
import os
import pathlib
import subprocess

import huggingface_hub
import pytest

from hub_server import Hub

NAME = "acme/Tiny-Dense.v1"
EXTRAS = {
    "README.md": b"# Tiny\n",
    "pytorch_model.bin": b"not needed",
    "consolidated.safetensors": b"a duplicate",
    "onnx/model.onnx": b"not needed either",
    "additional_chat_templates/tool_use.jinja": b"{{ messages[0].content }}",
}
NOT_NEEDED = ["README.md", "*.bin", "consolidated*", "onnx/*"]


@pytest.fixture
def files():
    model = os.environ.get("GODWIT_MODEL")
    if not model or not os.environ.get("GODWIT_BINARY"):
        pytest.skip("GODWIT_BINARY and GODWIT_MODEL are not set")
    found = {path.name: path.read_bytes() for path in pathlib.Path(model).iterdir()
             if path.is_file() and not path.name.startswith(("golden", "config.v"))}
    return {**found, **EXTRAS}


@pytest.fixture
def hub():
    server = Hub()
    yield server
    server.close()


def environment(hub, home, **more):
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "HOME": str(home), "HF_HOME": str(home), "HF_ENDPOINT": hub.url, **more}


def godwit(hub, home, *arguments, stdin="", **more):
    return subprocess.run([os.environ["GODWIT_BINARY"], *arguments], input=stdin, text=True,
                          capture_output=True, timeout=120, env=environment(hub, home, **more))


def run(hub, home, name, *flags, **more):
    return godwit(hub, home, "run", name, "Hello", "--max-tokens", "4", "--temperature", "0",
                  *flags, **more)


def tokenize(hub, home, name, *flags, **more):
    return godwit(hub, home, "tokenize", name, *flags, stdin='{"text": "Hello"}\n', **more)


def tree(cache):
    """Everything that the two caches must have in common: blobs, links and refs."""
    entries = {}
    for path in sorted(cache.rglob("*")):
        name = path.relative_to(cache)
        if name.parts[0].startswith(("models--", ".locks")) and "trees" not in name.parts:
            if path.is_symlink():
                entries[str(name)] = "-> " + os.readlink(path)
            elif path.is_file():
                entries[str(name)] = path.read_bytes()
    return entries


def download_with_reference(hub, cache, **options):
    return huggingface_hub.snapshot_download(NAME, cache_dir=cache, endpoint=hub.url, token=False,
                                             ignore_patterns=NOT_NEEDED, **options)


@pytest.mark.parametrize("revision", ["main", "v1.0", "feature/branch", "commit"])
def test_the_cache_is_that_of_huggingface_hub(hub, files, tmp_path, revision):
    commit = hub.add(NAME, files, "main", "v1.0", "feature/branch")
    wanted = commit if revision == "commit" else revision
    done = run(hub, tmp_path / "ours", NAME, "--revision", wanted)
    assert done.returncode == 0, done.stderr
    download_with_reference(hub, tmp_path / "theirs", revision=wanted)
    ours = tree(tmp_path / "ours" / "hub")
    theirs = tree(tmp_path / "theirs")
    assert ours.keys() == theirs.keys()
    assert ours == theirs
    assert any(name.endswith("tool_use.jinja") for name in ours)


def test_each_reads_what_the_other_downloaded(hub, files, tmp_path):
    hub.add(NAME, files)
    assert run(hub, tmp_path / "a", NAME).returncode == 0
    asked = len(hub.requests)
    found = huggingface_hub.snapshot_download(NAME, cache_dir=tmp_path / "a" / "hub",
                                              local_files_only=True)
    assert (pathlib.Path(found) / "model.safetensors").read_bytes() == files["model.safetensors"]

    download_with_reference(hub, tmp_path / "b" / "hub")
    asked = len(hub.requests)
    offline = run(hub, tmp_path / "b", NAME, HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    assert len(hub.requests) == asked
    # Online, one question: which commit is it?
    assert run(hub, tmp_path / "b", NAME).returncode == 0
    assert [method for method, _, _ in hub.requests[asked:]] == ["GET"]


def test_the_answer_is_that_of_the_folder(hub, files, tmp_path):
    hub.add(NAME, files)
    by_name = run(hub, tmp_path, NAME)
    by_path = run(hub, tmp_path, os.environ["GODWIT_MODEL"])
    assert by_name.returncode == 0, by_name.stderr
    assert by_name.stdout == by_path.stdout


def test_text_commands_fetch_no_weights(hub, files, tmp_path):
    hub.add(NAME, files)
    done = tokenize(hub, tmp_path, NAME)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ids"]
    doctor = godwit(hub, tmp_path, "doctor", NAME)
    assert doctor.returncode == 0, doctor.stderr
    assert "not downloaded" in doctor.stdout and "Memory plan" in doctor.stdout
    assert not any(name.endswith("model.safetensors") for name in tree(tmp_path / "hub"))
    assert run(hub, tmp_path, NAME).returncode == 0
    assert "This model can be served" in godwit(hub, tmp_path, "doctor", NAME).stdout


def test_a_new_commit_is_fetched_and_the_old_one_stays(hub, files, tmp_path):
    old = hub.add(NAME, files)
    assert tokenize(hub, tmp_path, NAME).returncode == 0
    new = hub.add(NAME, {**files, "generation_config.json": b'{"eos_token_id": 1}'})
    assert tokenize(hub, tmp_path, NAME).returncode == 0
    folder = tmp_path / "hub" / "models--acme--Tiny-Dense.v1"
    assert (folder / "refs" / "main").read_text() == new
    assert {path.name for path in (folder / "snapshots").iterdir()} == {old, new}
    assert tokenize(hub, tmp_path, NAME, "--revision", old, HF_HUB_OFFLINE="1").returncode == 0


def test_dropped_connections_are_gone_on_with(hub, files, tmp_path):
    hub.add(NAME, files)
    size = len(files["model.safetensors"])
    hub.cut_after = size // 2 + 1
    done = run(hub, tmp_path, NAME)
    assert done.returncode == 0, done.stderr
    ranges = [headers["Range"] for _, path, headers in hub.cdn_requests if "Range" in headers]
    assert f"bytes={hub.cut_after}-" in ranges
    # The token is for the hub alone, and there is none here; the CDN is another origin.
    assert not any("Authorization" in headers for _, _, headers in hub.cdn_requests)


def test_tokens(hub, files, tmp_path):
    hub.token = "hf_secret"
    hub.add(NAME, files)
    without = tokenize(hub, tmp_path, NAME)
    assert without.returncode == 1
    assert "gated" in without.stderr and "HF_TOKEN" in without.stderr
    assert tokenize(hub, tmp_path, NAME, HF_TOKEN="hf_secret").returncode == 0
    (tmp_path / "token").write_text("hf_secret\n")
    assert tokenize(hub, tmp_path, NAME).returncode == 0
    assert hub.cdn_requests
    assert not any("Authorization" in headers for _, _, headers in hub.cdn_requests)


def test_a_renamed_repository_is_found(hub, files, tmp_path):
    hub.add("new/Name", files)
    hub.renamed["old/Name"] = "new/Name"
    done = tokenize(hub, tmp_path, "old/Name")
    assert done.returncode == 0, done.stderr


def test_errors_say_what_to_do(hub, files, tmp_path):
    hub.add(NAME, files)
    hub.add("acme/bin", {"config.json": files["config.json"], "pytorch_model.bin": b"x"})
    unknown = tokenize(hub, tmp_path, "acme/none")
    assert "there is no file or folder acme/none" in unknown.stderr and "check the name" in unknown.stderr
    revision = tokenize(hub, tmp_path, NAME, "--revision", "nowhere")
    assert "no revision nowhere" in revision.stderr
    pickled = run(hub, tmp_path, "acme/bin")
    assert "pytorch_model.bin" in pickled.stderr and "safetensors" in pickled.stderr
    offline = tokenize(hub, tmp_path / "empty", NAME, HF_HUB_OFFLINE="1")
    assert "is not in the cache" in offline.stderr
    for done in (unknown, revision, pickled, offline):
        assert done.returncode == 1 and done.stderr.count("\n") <= 3


def test_download_dir_is_the_cache(hub, files, tmp_path):
    hub.add(NAME, files)
    assert tokenize(hub, tmp_path, NAME, "--download-dir", str(tmp_path / "x")).returncode == 0
    assert (tmp_path / "x" / "models--acme--Tiny-Dense.v1" / "refs" / "main").is_file()
    assert not (tmp_path / "hub").exists()


def test_two_processes_share_one_download(hub, files, tmp_path):
    hub.add(NAME, files)
    command = [os.environ["GODWIT_BINARY"], "run", NAME, "Hello", "--max-tokens", "1"]
    both = [subprocess.Popen(command, env=environment(hub, tmp_path), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    large = [path for method, path, _ in hub.cdn_requests if method == "GET"]
    assert len(large) == len(set(large))
