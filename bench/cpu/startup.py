#!/usr/bin/env python3
"""Measures start-up and idle memory of build/release/godwit: bench/cpu/startup.py [MODEL] [--write]

`godwit --help`: wall time. Ready: from exec to the first 200 of /readyz, page cache warm. Idle memory:
what is resident beyond the mapped model file and the reserved cache, from /proc/PID/smaps.
"""

import argparse
import datetime
import http.client
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare  # noqa: E402

GODWIT = compare.BUILD / "godwit"
RUNS = 7
DEADLINE_SECONDS = 60


def help_milliseconds():
    begin = time.perf_counter()
    subprocess.run([GODWIT, "--help"], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_ready(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def idle_megabytes(pid, model):
    """Resident memory less the pages of the model's file.

    The cache's pages become resident when they are first written, so an idle server has none; a cache
    that other processes can map has a name (memfd, /dev/shm, /dev/zero) and is left out.
    """
    total, counted = 0, True
    cache_names = ("/memfd:", "/dev/shm/", "/dev/zero")
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        header = re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)", line)
        if header:
            name = header[1]
            counted = not name.startswith((*cache_names, str(model.resolve())))
        elif counted and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total / 1024


def start(model):
    """Starts a server; returns (milliseconds to ready, idle megabytes)."""
    port = free_port()
    begin = time.perf_counter()
    server = subprocess.Popen(
        [GODWIT, "serve", model, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        while not is_ready(port):
            if server.poll() is not None or time.perf_counter() - begin > DEADLINE_SECONDS:
                raise SystemExit("godwit serve did not get ready")
            time.sleep(0.001)
        ready = (time.perf_counter() - begin) * 1e3
        return ready, idle_megabytes(server.pid, model)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(DEADLINE_SECONDS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path, nargs="?")
    parser.add_argument("--write", action="store_true", help="add to docs/measurements/")
    arguments = parser.parse_args()
    model = arguments.model or pathlib.Path(
        compare.first_line([compare.ROOT / "tools" / "fetch_default_model"])
    )
    help_time = statistics.median(help_milliseconds() for _ in range(RUNS))
    starts = [start(model) for _ in range(RUNS)]
    text = "\n".join([
        f"## Start-up, {datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        "",
        f"Command: `bench/cpu/startup.py {model.name}`, median of {RUNS}  ",
        f"Machine: {compare.processor()}; godwit "
        f"{compare.first_line(['git', 'rev-parse', '--short', 'HEAD'])}",
        "",
        "| measure | value | wanted |",
        "| --- | --- | --- |",
        f"| `godwit --help` | {help_time:.1f} ms | <= 20 ms |",
        f"| exec to ready | {statistics.median(ready for ready, _ in starts):.0f} ms | <= 300 ms |",
        "| idle memory beyond mapped weights and cache "
        f"| {statistics.median(size for _, size in starts):.0f} MB | <= 100 MB |",
    ]) + "\n"
    print(text, end="")
    if arguments.write:
        compare.write(text)


if __name__ == "__main__":
    main()
