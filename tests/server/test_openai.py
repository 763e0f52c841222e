"""The API as a user of the `openai` package meets it."""

import concurrent.futures
import http.client
import json
import signal
import socket
import time

import openai
import pytest

HELLO = [{"role": "user", "content": "Say something."}]


def chat(client, model, **fields):
    fields = {"temperature": 0, "max_tokens": 8, **fields}
    return client.chat.completions.create(model=model, messages=HELLO, **fields)


def complete(client, model, **fields):
    fields = {"prompt": "the quick", "temperature": 0, "max_tokens": 8, **fields}
    return client.completions.create(model=model, **fields)


def holds_within(seconds, condition):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
    return condition()


def test_models(client, model):
    assert client.models.retrieve(model).id == model
    card = client.models.list().data[0]
    assert card.object == "model" and card.created > 0
    assert card.max_model_len > 0
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("no-such-model")


def test_chat(client, model):
    answer = chat(client, model, extra_body={"ignore_eos": True})
    assert answer.id.startswith("chatcmpl-")
    assert answer.object == "chat.completion"
    assert answer.model == model
    choice = answer.choices[0]
    assert choice.message.role == "assistant" and choice.message.content
    assert choice.message.tool_calls is None
    assert choice.finish_reason == "length"
    assert answer.usage.completion_tokens == 8
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 8


def test_chat_stream_equals_chat(client, model):
    whole = chat(client, model, max_tokens=20)
    chunks = list(chat(client, model, max_tokens=20, stream=True,
                       stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert all(chunk.id == chunks[0].id for chunk in chunks)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
    assert reasons[-1] == whole.choices[0].finish_reason
    assert not any(reasons[:-1])
    assert chunks[-1].choices == []
    assert chunks[-1].usage == whole.usage or (
        chunks[-1].usage.total_tokens == whole.usage.total_tokens)
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_stream_on_the_wire_ends_with_done(server, model):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    body = {"model": model, "messages": HELLO, "max_tokens": 4, "stream": True}
    connection.request("POST", "/v1/chat/completions", json.dumps(body),
                       {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.headers["Content-Type"].startswith("text/event-stream")
    events = response.read().decode().split("\n\n")
    assert events[-1] == "" and events[-2] == "data: [DONE]"
    for event in events[:-2]:
        payload = json.loads(event.removeprefix("data: "))
        assert "tool_calls" not in payload["choices"][0]["delta"]
    # The connection lives on.
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200


def test_chat_logprobs(client, model):
    answer = chat(client, model, logprobs=True, top_logprobs=3, extra_body={"ignore_eos": True})
    content = answer.choices[0].logprobs.content
    assert len(content) == answer.usage.completion_tokens
    for token in content:
        assert token.logprob <= 0
        assert bytes(token.bytes).decode(errors="replace") == token.token
        assert len(token.top_logprobs) == 3
        alternatives = [top.logprob for top in token.top_logprobs]
        assert alternatives == sorted(alternatives, reverse=True)
        # Greedy decoding takes the most likely token.
        assert token.top_logprobs[0].token == token.token


def test_completion_logprobs_and_echo(client, model):
    answer = complete(client, model, logprobs=2, echo=True, extra_body={"ignore_eos": True})
    choice = answer.choices[0]
    assert choice.text.startswith("the quick")
    logprobs = choice.logprobs
    count = answer.usage.total_tokens
    assert len(logprobs.tokens) == len(logprobs.token_logprobs) == count
    assert logprobs.token_logprobs[0] is None and logprobs.top_logprobs[0] is None
    assert all(value <= 0 for value in logprobs.token_logprobs[1:])
    assert logprobs.text_offset[0] == 0
    assert logprobs.text_offset == sorted(logprobs.text_offset)
    assert "".join(logprobs.tokens[:answer.usage.prompt_tokens]) == "the quick"


def test_echo_without_tokens_scores_a_prompt(client, model):
    answer = complete(client, model, max_tokens=0, echo=True, logprobs=0)
    choice = answer.choices[0]
    assert choice.text == "the quick"
    assert len(choice.logprobs.tokens) == answer.usage.prompt_tokens
    assert answer.usage.completion_tokens == 0


def test_prompt_logprobs(client, model):
    answer = complete(client, model, extra_body={"prompt_logprobs": 0, "return_token_ids": True})
    choice = answer.choices[0].model_dump()
    ids = choice["prompt_token_ids"]
    assert choice["prompt_logprobs"][0] is None
    for token, entry in zip(ids[1:], choice["prompt_logprobs"][1:]):
        assert entry[str(token)]["logprob"] <= 0
        assert entry[str(token)]["rank"] >= 1
    assert len(choice["token_ids"]) == answer.usage.completion_tokens


def test_token_ids_in_give_the_same_answer(client, model):
    first = complete(client, model, extra_body={"return_token_ids": True})
    ids = first.choices[0].model_dump()["prompt_token_ids"]
    second = complete(client, model, prompt=ids)
    assert second.choices[0].text == first.choices[0].text


def test_several_outputs_of_several_prompts(client, model):
    answer = complete(client, model, prompt=["the quick", "a"], n=2, temperature=1, seed=3)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    seen = set()
    for chunk in complete(client, model, prompt=["the quick", "a"], n=2, stream=True):
        seen.add(chunk.choices[0].index)
    assert seen == {0, 1, 2, 3}


def test_stop_string_is_cut_off_and_named(client, model):
    text = complete(client, model, max_tokens=24, extra_body={"ignore_eos": True}).choices[0].text
    stop = text[len(text) // 2:][:3]
    choice = complete(client, model, max_tokens=24, stop=[stop],
                      extra_body={"ignore_eos": True}).choices[0]
    assert choice.finish_reason == "stop"
    assert choice.stop_reason == stop
    assert choice.text == text[:text.index(stop)]
    streamed = "".join(
        chunk.choices[0].text
        for chunk in complete(client, model, max_tokens=24, stop=[stop], stream=True,
                              extra_body={"ignore_eos": True}))
    assert streamed == choice.text


def test_a_seed_fixes_the_answer(client, model):
    def draw(seed):
        return complete(client, model, temperature=1.0, seed=seed, max_tokens=16).choices[0].text

    assert draw(7) == draw(7)


def test_logit_bias_and_min_tokens(client, model):
    answer = complete(client, model, max_tokens=3, logit_bias={"100": 100},
                      extra_body={"return_token_ids": True, "min_tokens": 3})
    assert answer.choices[0].model_dump()["token_ids"] == [100, 100, 100]


def test_errors(client, model):
    with pytest.raises(openai.NotFoundError) as missing:
        chat(client, "no-such-model")
    assert missing.value.code == "model_not_found"
    for fields, param in [({"temperature": -1}, "temperature"),
                          ({"n": 0}, "n"),
                          ({"max_tokens": 10**9}, None),
                          ({"response_format": {"type": "json_object"}}, "response_format"),
                          ({"extra_body": {"structured_outputs": {"regex": "x"}}},
                           "structured_outputs"),
                          ({"extra_body": {"top_k": "many"}}, "top_k")]:
        with pytest.raises(openai.BadRequestError) as refused:
            chat(client, model, **fields)
        assert refused.value.param == param
        assert refused.value.type == "invalid_request_error"
    # Unknown fields are not errors.
    chat(client, model, extra_body={"no_such_field": 1})


def test_routes_that_do_not_exist(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for method, path, status in [("GET", "/nothing", 404), ("GET", "/v1/completions", 405),
                                 ("POST", "/v1/completions", 400)]:
        connection.request(method, path, body="" if method == "POST" else None)
        response = connection.getresponse()
        assert response.status == status
        assert set(json.loads(response.read())["error"]) == {"message", "type", "param", "code"}


def test_tokenize_and_detokenize(server, client, model):
    def post(path, body):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(connection.getresponse().read())

    tokens = post("/tokenize", {"model": model, "prompt": "the quick"})
    assert tokens["count"] == len(tokens["tokens"]) and tokens["max_model_len"] > 0
    assert post("/detokenize", {"tokens": tokens["tokens"]})["prompt"] == "the quick"
    messages = post("/tokenize", {"messages": HELLO})
    assert messages["count"] == chat(client, model).usage.prompt_tokens


def test_operations(server):
    assert "version" in json.loads(server.get("/version"))
    assert server.get("/health") == server.get("/livez") == server.get("/readyz") == ""
    assert "<!doctype html>" in server.get("/")
    assert "vllm:num_requests_running" in server.get("/metrics")


def test_many_at_once_get_what_each_gets_alone(client, model):
    prompts = [f"the quick {i}" for i in range(16)]

    def ask(prompt):
        return complete(client, model, prompt=prompt).choices[0].text

    alone = [ask(prompt) for prompt in prompts]
    with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
        assert list(pool.map(ask, prompts)) == alone


def test_a_client_that_leaves_is_forgotten(server, client, model):
    name, label = "vllm:request_success_total", 'finished_reason="abort"'
    before = server.metric(name, label)
    with chat(client, model, max_tokens=900, stream=True,
              extra_body={"ignore_eos": True}) as stream:
        next(iter(stream))
    assert holds_within(10, lambda: server.metric(name, label) > before)
    # The same while nothing has been sent yet.
    before = server.metric(name, label)
    body = json.dumps({"model": model, "prompt": "a", "max_tokens": 900, "ignore_eos": True})
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
                    f"\r\n\r\n{body}".encode())
        prompts = "vllm:num_requests_running"
        holds_within(2, lambda: server.metric(prompts) > 0)
    assert holds_within(10, lambda: server.metric(name, label) > before)


def test_shutdown_lets_a_running_request_finish(start_server):
    server = start_server()
    client = server.client()
    stream = client.completions.create(model="", prompt="a", max_tokens=200, stream=True,
                                       extra_body={"ignore_eos": True, "return_token_ids": True})
    chunks = iter(stream)
    received = [next(chunks)]
    server.process.send_signal(signal.SIGTERM)
    received += list(chunks)
    assert received[-1].choices[0].finish_reason == "length"
    assert sum(len(chunk.choices[0].token_ids) for chunk in received) == 200
    assert server.process.wait(timeout=30) == 0


def test_api_key(start_server):
    server = start_server("--api-key", "secret")
    with pytest.raises(openai.AuthenticationError) as refused:
        server.client().models.list()
    assert refused.value.code == "invalid_api_key"
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="secret", max_retries=0)
    assert client.models.list().data
