"""Request fields in random combinations, many at once in a small cache: a stream says what the whole
answer says, event by event put together, and both say what they say alone. Nothing is held afterwards."""

import json
import random
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

REQUESTS = 120
WORDS = "the king shall come to thee with love and war é 日本 🙂 ? ! \n".split(" ")

# A field, how often it is there, and its values; for chats, for completions, or for both.
BOTH = [
    ("n", 0.3, [2, 3]),
    ("stop", 0.4, [["the"], ["e"], [" ", "zz"], ["\n"], ["日"], ["🙂"], "love"]),
    ("include_stop_str_in_output", 0.3, [True]),
    ("presence_penalty", 0.3, [-1.5, 0.5]),
    ("frequency_penalty", 0.2, [1.0]),
    ("repetition_penalty", 0.2, [1.3]),
    ("min_tokens", 0.2, [1]),
    ("top_k", 0.2, [1, 5, -1]),
    ("top_p", 0.2, [0.3, 1]),
    ("min_p", 0.2, [0.2]),
    ("logit_bias", 0.2, [{"17": -100, "40": 5}]),
    ("bad_words", 0.2, [["the", "king"]]),
    ("cache_salt", 0.2, ["a", "b"]),
    ("truncate_prompt_tokens", 0.2, [1, 5, -1]),
    ("ignore_eos", 0.2, [True]),
    ("skip_special_tokens", 0.2, [False]),
]
CHAT = BOTH + [("logprobs", 0.5, [True])]
COMPLETION = BOTH + [("logprobs", 0.5, [0, 1, 5]), ("echo", 0.3, [True])]


def make_request(number, model):
    """A path and a body."""
    chance = random.Random(number)
    chat = chance.random() < 0.5
    text = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(1, 60)))
    body = {"model": model, "max_tokens": chance.choice([1, 2, 5, 17, 40]), "seed": number,
            "temperature": chance.choice([0, 0.7, 1.5])}
    if chat:
        body["messages"] = [{"role": "user", "content": text}]
    else:
        body["prompt"] = text
    for field, often, values in CHAT if chat else COMPLETION:
        if chance.random() < often:
            body[field] = chance.choice(values)
    return ("/v1/chat/completions" if chat else "/v1/completions"), body


def post(server, path, body):
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        pytest.fail(f"{error.code} {error.read().decode()} for {body}")


def logprobs_of(choice):
    found = choice.get("logprobs") or {}
    if "content" in found:
        return [entry["logprob"] for entry in found["content"]]
    return found.get("token_logprobs", [])


def read_whole(server, path, body):
    """Of each choice the text, why it ended and its log probabilities; and the usage."""
    answer = json.loads(post(server, path, body))
    choices = {}
    for choice in answer["choices"]:
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        choices[choice["index"]] = (text or "", choice["finish_reason"], choice["stop_reason"],
                                    logprobs_of(choice))
    return choices, answer["usage"]


def read_stream(server, path, body):
    """The same of a stream."""
    wanted = body | {"stream": True, "stream_options": {"include_usage": True}}
    events = [line[6:] for line in post(server, path, wanted).splitlines()
              if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    choices, usage = {}, None
    for event in map(json.loads, events[:-1]):
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            text, reason, stop, logprobs = choices.get(choice["index"], ("", None, None, []))
            part = choice["delta"].get("content") if "delta" in choice else choice["text"]
            choices[choice["index"]] = (text + (part or ""), choice.get("finish_reason") or reason,
                                        choice.get("stop_reason") or stop,
                                        logprobs + logprobs_of(choice))
    return choices, usage


def test_streams_and_whole_answers_agree_in_every_combination(start_server):
    server = start_server("--served-model-name", "tiny", "--kv-cache-memory-bytes", "8000000",
                          "--max-model-len", "400", "--max-num-batched-tokens", "64")
    requests = [make_request(number, "tiny") for number in range(REQUESTS)]
    alone = [read_whole(server, *request) for request in requests]
    with ThreadPoolExecutor(24) as pool:
        crowded = list(pool.map(lambda request: read_whole(server, *request), requests))
        streams = list(pool.map(lambda request: read_stream(server, *request), requests))
    for request, expected, whole, stream in zip(requests, alone, crowded, streams, strict=True):
        for name, (choices, usage) in {"whole": whole, "stream": stream}.items():
            assert choices == expected[0], (name, request)
            for count in ("prompt_tokens", "completion_tokens", "total_tokens"):
                assert usage[count] == expected[1][count], (name, request)
    assert server.metric("vllm:kv_cache_usage_perc") == 0
    assert server.metric("vllm:num_requests_running") == 0
