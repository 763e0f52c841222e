"""A thousand clients at once: each hears the text that it would hear alone, and /health answers."""

import asyncio
import json
import resource
import time

from conftest import Server

CLIENTS = 1000
TEXTS = 20
BODY = {"model": "tiny", "max_tokens": 12, "temperature": 0, "ignore_eos": True}


def prompt(number):
    return f"{number} men of good name, and the " + "lord of " * (number % 7)


def read_texts(body):
    """The pieces of text of a stream of server-sent events, in one."""
    text = ""
    events = [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
    assert events and events[-1] == "[DONE]", body[-300:]
    for event in events[:-1]:
        text += "".join(choice["text"] for choice in json.loads(event)["choices"])
    return text


async def ask(port, method, path, body=None):
    """One exchange on a connection of its own: the status and the body, chunks put together."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    payload = b"" if body is None else json.dumps(body).encode()
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                 f"Content-Length: {len(payload)}\r\n\r\n".encode() + payload)
    await writer.drain()
    head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    if b"chunked" in head:
        chunks, whole = rest, b""
        while chunks:
            size, _, chunks = chunks.partition(b"\r\n")
            whole += chunks[:int(size, 16)]
            chunks = chunks[int(size, 16) + 2:]
        rest = whole
    return int(head.split()[1]), rest


async def all_at_once(port, alone):
    async def stream(number):
        body = BODY | {"prompt": prompt(number % TEXTS), "stream": True}
        status, answer = await ask(port, "POST", "/v1/completions", body)
        assert status == 200, answer
        assert read_texts(answer) == alone[number % TEXTS], f"client {number}"

    streams = [asyncio.create_task(stream(number)) for number in range(CLIENTS)]
    answered = 0
    while not all(task.done() for task in streams):
        status, _ = await ask(port, "GET", "/health")
        assert status == 200
        answered += 1
    await asyncio.gather(*streams)
    return answered


def test_a_thousand_streams_say_what_each_says_alone():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * CLIENTS
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(wanted, hard)), hard))
    server = Server("--served-model-name", "tiny")
    try:
        alone = []
        for number in range(TEXTS):
            status, answer = asyncio.run(
                ask(server.port, "POST", "/v1/completions", BODY | {"prompt": prompt(number)}))
            assert status == 200, answer
            alone.append(json.loads(answer)["choices"][0]["text"])
        assert len(set(alone)) > TEXTS // 2
        assert asyncio.run(all_at_once(server.port, alone)) > 1
        # A request is counted just after its last event is on its way.
        deadline = time.monotonic() + 20
        while (counted := server.metric("vllm:request_success_total")) < TEXTS + CLIENTS:
            assert time.monotonic() < deadline, counted
        assert counted == TEXTS + CLIENTS
    finally:
        server.stop()
