#!/usr/bin/env python3
"""Compares godwit with llama.cpp on this machine: same GGUF file, same threads, alternating runs.

    bench/cpu/compare.py [--model FILE.gguf] [--threads 2] [--runs 5] [--write]

Builds godwit's bench program in build/release and llama.cpp (llama-cpp-python from PyPI with
GGML_NATIVE=ON, a long build) in a virtual environment in the user's cache, when they are missing.
--write adds the table to docs/measurements/<date>-cpu.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "release"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "godwit"
TARGETS = {"prefill_512": 0.8, "decode_128": 0.8, "decode_128_x16": 1.0}
NAMES = {
    "prefill_512": "prefill, 512 tokens",
    "decode_128": "decode, 128 tokens, 1 sequence",
    "decode_128_x16": "decode, 128 tokens, 16 sequences",
}


def build_godwit():
    subprocess.run(["cmake", "-S", ROOT, "--preset", "release"], check=True, stdout=sys.stderr)
    subprocess.run(
        ["cmake", "--build", BUILD, "--target", "godwit_cpu_throughput"],
        check=True, stdout=sys.stderr,
    )
    return BUILD / "godwit_cpu_throughput"


def build_peer():
    """Returns the Python of a virtual environment that has llama-cpp-python."""
    venv = CACHE / "bench-venv"
    python = venv / "bin" / "python"
    if python.exists() and subprocess.run(
        [python, "-c", "import llama_cpp"], capture_output=True
    ).returncode == 0:
        return python
    print("building llama.cpp; this takes a while", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    environment = {
        **os.environ,
        "CMAKE_ARGS": "-DGGML_NATIVE=ON -DLLAVA_BUILD=OFF",
        "CXXFLAGS": f"-include {ROOT / 'bench' / 'cpu' / 'peer_amx.h'}",
    }
    subprocess.run(
        [python, "-m", "pip", "install", "--no-binary", "llama-cpp-python", "llama-cpp-python"],
        check=True, stdout=sys.stderr, env=environment,
    )
    return python


def measure(command, speeds):
    """Runs one process and adds its measures to `speeds`."""
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        row = json.loads(line)
        speeds.setdefault(row["measure"], []).append(row["tokens_per_second"])


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def first_line(command):
    output = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    return output.strip().split("\n")[0]


def report(ours, theirs, arguments, python):
    peer_version = first_line([python, "-c", "import llama_cpp; print(llama_cpp.__version__)"])
    lines = [
        f"## Against llama.cpp, {datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        "",
        f"Command: `bench/cpu/compare.py --model {arguments.model.name} "
        f"--threads {arguments.threads} --runs {arguments.runs}`  ",
        f"Machine: {processor()}, {os.cpu_count()} cores  ",
        f"Versions: godwit {first_line(['git', 'rev-parse', '--short', 'HEAD'])}, "
        f"llama-cpp-python {peer_version} (GGML_NATIVE=ON), {first_line(['g++', '--version'])}  ",
        "Medians of tokens per second, with the lowest and the highest run.",
        "",
        "| measure | godwit | llama.cpp | ratio | wanted |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, wanted in TARGETS.items():
        mine, peer = statistics.median(ours[name]), statistics.median(theirs[name])
        lines.append(
            f"| {NAMES[name]} | {mine:.1f} ({min(ours[name]):.1f}-{max(ours[name]):.1f}) "
            f"| {peer:.1f} ({min(theirs[name]):.1f}-{max(theirs[name]):.1f}) "
            f"| {mine / peer:.2f} | >= {wanted:.1f} |"
        )
    return "\n".join(lines) + "\n"


def write(text):
    """Adds `text` to today's page of measurements."""
    path = ROOT / "docs" / "measurements" / f"{datetime.date.today()}-cpu.md"
    head = "" if path.exists() else "# CPU measurements\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{head}\n{text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=pathlib.Path, help="default: the model of ./run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="add to docs/measurements/")
    arguments = parser.parse_args()
    if arguments.model is None:
        arguments.model = pathlib.Path(first_line([ROOT / "tools" / "fetch_default_model"]))
    program, python = build_godwit(), build_peer()

    what = [arguments.model, str(arguments.threads)]
    ours, theirs = {}, {}
    for _ in range(arguments.runs):
        measure([program, *what], ours)
        measure([python, ROOT / "bench" / "cpu" / "llama_cpp_throughput.py", *what], theirs)
    text = report(ours, theirs, arguments, python)
    print(text, end="")
    if arguments.write:
        write(text)


if __name__ == "__main__":
    main()
