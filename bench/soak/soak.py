"""Sends 100,000 mixed requests to a server and shows that nothing grows.

    python bench/soak/soak.py PROGRAM MODEL [--requests N] [--streams N]

Requests differ in kind: chats and completions, streamed or whole, several outputs, refused fields,
unknown models, clients that leave in the middle of a stream. Memory is read after each twentieth of
them; the first quarter warms up caches, and the program fails if resident memory, open files or the
server's gauges have grown after it. Needs Python alone.
"""

import argparse
import asyncio
import json
import pathlib
import random
import re
import socket
import subprocess
import time
import urllib.request

# Allocators keep some slack; a leak of 100 bytes a request would show as 7 MB.
MEMORY_SLACK = 4 << 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def resident_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


def open_files(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def gauges(url):
    """Running and waiting requests and the part of the cache in use."""
    text = urllib.request.urlopen(url + "/metrics", timeout=10).read().decode()
    names = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc")
    return [float(re.search(rf"^vllm:{name}{{[^}}]*}} (\S+)", text, re.M).group(1))
            for name in names]


def choose_request(chance, model):
    """A path, a body, the status that must come, and after how many bytes the client leaves."""
    words = [chance.choice(["one", "two", "three", "four"]) for _ in range(chance.randrange(1, 24))]
    body = {"model": model, "max_tokens": chance.randrange(1, 6), "seed": chance.randrange(100),
            "stream": chance.random() < 0.5}
    chat = chance.random() < 0.5
    if chat:
        body["messages"] = [{"role": "user", "content": " ".join(words)}]
    else:
        body["prompt"] = " ".join(words)
    kind = chance.randrange(10)
    status, leave_after = 200, None
    if kind == 0:
        body["n"] = 3
    elif kind == 1:
        body["logprobs"] = True if chat else 2
    elif kind == 2:
        body["temperature"], status = -1, 400
    elif kind == 3:
        body["model"], status = "another", 404
    elif kind == 4:
        body["stream"], body["max_tokens"], leave_after = True, 40, 1
    path = "/v1/chat/completions" if chat else "/v1/completions"
    return path, body, status, leave_after


async def ask(port, path, body, status, leave_after):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        data = json.dumps(body).encode()
        writer.write(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
                     .encode() + data)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        assert int(head.split()[1]) == status, (body, head)
        if leave_after is None:
            answer = await reader.read()
            assert answer, body
            assert not (body["stream"] and status == 200) or b"[DONE]" in answer, body
        else:
            await reader.read(leave_after)
    finally:
        writer.close()


async def send(port, model, count, streams, seed):
    chance = random.Random(seed)
    left = iter(range(count))

    async def work():
        for _ in left:
            await ask(port, *choose_request(chance, model))

    await asyncio.gather(*(work() for _ in range(streams)))


def settled_gauges(url):
    """Clients that left are noticed within moments."""
    deadline = time.monotonic() + 30
    while any(values := gauges(url)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--streams", type=int, default=32)
    options = parser.parse_args()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([options.program, "serve", options.model, "--host", "127.0.0.1",
                               "--port", str(port), "--served-model-name", "soak",
                               "--log-level", "error", "--kv-cache-memory-bytes", "8M"],
                              stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(url + "/readyz", timeout=1).close()
                break
            except OSError:
                assert server.poll() is None, "the server ended while it started"
        parts = 20
        memory, files = [], []
        start = time.monotonic()
        for part in range(parts):
            asyncio.run(send(port, "soak", options.requests // parts, options.streams, part))
            values = settled_gauges(url)
            memory.append(resident_bytes(server.pid))
            files.append(open_files(server.pid))
            print(f"{(part + 1) * options.requests // parts:>8} requests {memory[-1] / 2**20:8.2f} MiB"
                  f" {files[-1]:4} files; running, waiting, cache: {values}", flush=True)
            assert values == [0, 0, 0], "the server still holds requests"
        seconds = time.monotonic() - start
        warm = parts // 4
        growth = max(memory[warm:]) - memory[warm - 1]
        print(f"{options.requests / seconds:.0f} requests a second; memory grew by "
              f"{growth / 2**20:.2f} MiB after the first quarter")
        assert growth < MEMORY_SLACK, "memory grows"
        assert max(files[warm:]) <= files[warm - 1], "open files grow"
    finally:
        server.terminate()
        assert server.wait(timeout=30) == 0


if __name__ == "__main__":
    main()
