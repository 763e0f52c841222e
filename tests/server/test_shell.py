"""Shell completion and the manual page, which the program writes from its own flags."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def binary():
    path = os.environ.get("GODWIT_BINARY")
    if not path:
        pytest.skip("GODWIT_BINARY is not set")
    return path


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_godwit
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def complete(binary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bash")
    script = folder / "godwit"
    script.write_text(output(binary, "completion", "bash"))
    (folder / "model file.gguf").touch()

    def run(*words):
        return set(output("bash", "-c", COMPLETE, "-", script, "godwit", *words,
                          cwd=folder).splitlines())
    return run


def test_bash_completes_commands(complete):
    assert {"serve", "run", "bench", "doctor"} <= complete("")
    assert complete("ser") == {"serve"}
    assert complete("bench", "") == {"throughput", "latency", "startup", "serve"}
    assert complete("completion", "") == {"bash", "zsh", "fish"}


def test_bash_completes_flags_of_the_command_that_is_typed(complete):
    assert "--max-num-seqs" in complete("serve", "--max")
    assert "--max-concurrency" not in complete("serve", "--max")
    assert complete("bench", "serve", "--max-c") == {"--max-concurrency"}
    assert "--max-concurrency" in complete("bench", "serve", "--ignore-eos", "--")


def test_bash_completes_values_and_files(complete):
    assert complete("serve", "m.gguf", "--scheduling-policy", "") == {"fcfs", "priority"}
    assert complete("serve", "mod") == {"model file.gguf"}
    assert complete("serve", "m.gguf", "--chat-template", "mod") == {"model file.gguf"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_script(binary, shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "_godwit"
    script.write_text(output(binary, "completion", shell))
    output(shell, "-n", str(script))
    if shell == "fish":
        shown = output("fish", "-c", f"source {script}; complete -C 'godwit bench serve --max-c'")
        assert shown.startswith("--max-concurrency\t")


def test_an_unknown_shell_is_refused(binary):
    done = subprocess.run([binary, "completion", "tcsh"], capture_output=True, text=True,
                          timeout=30)
    assert done.returncode == 2 and "tcsh" in done.stderr


def test_manual_page_is_clean_and_whole(binary, tmp_path):
    page = tmp_path / "godwit.1"
    page.write_text(output(binary, "man"))
    for words in ("\\-\\-max\\-num\\-seqs", "godwit bench latency", "VLLM_API_KEY"):
        assert words in page.read_text()
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", str(page)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
