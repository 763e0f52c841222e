"""The API as a user of the `litellm` package meets it, through its provider for OpenAI's form."""

import asyncio
import os

import pytest

# Its list of prices comes with the package; it must not look for a newer one.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
litellm = pytest.importorskip("litellm")

HELLO = [{"role": "user", "content": "Say something."}]


@pytest.fixture
def ask(server, model):
    """Calls a function of litellm on the server."""

    def call(function, **fields):
        fields = {"model": f"openai/{model}", "temperature": 0, "max_tokens": 8, **fields}
        return function(api_base=server.url + "/v1", api_key="none", num_retries=0, timeout=60,
                        **fields)

    return call


def test_chat(ask):
    answer = ask(litellm.completion, messages=HELLO)
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_stream_equals_chat(ask):
    whole = ask(litellm.completion, messages=HELLO).choices[0].message.content
    chunks = list(ask(litellm.completion, messages=HELLO, stream=True,
                      stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks
                   if chunk.choices) == whole
    rebuilt = litellm.stream_chunk_builder(chunks, messages=HELLO)
    assert rebuilt.choices[0].message.content == whole
    assert rebuilt.usage.completion_tokens > 0


def test_text_completion(ask, model):
    answer = ask(litellm.text_completion, model=f"text-completion-openai/{model}",
                 prompt="the quick", logprobs=2)
    assert answer.choices[0].text
    assert len(answer.choices[0].logprobs.tokens) == answer.usage.completion_tokens


def test_fields_of_vllm_pass_through(ask):
    answer = ask(litellm.completion, messages=HELLO, max_tokens=3,
                 extra_body={"allowed_token_ids": [100], "ignore_eos": True,
                             "return_token_ids": True})
    assert answer.choices[0].model_dump()["token_ids"] == [100] * 3


@pytest.mark.parametrize("fields, error", [
    ({"top_p": 7}, litellm.BadRequestError),
    ({"model": "openai/no-such-model"}, litellm.NotFoundError),
])
def test_errors_are_told_apart(ask, fields, error):
    with pytest.raises(error):
        ask(litellm.completion, messages=HELLO, **fields)


def test_many_at_once(ask):
    async def all_of_them():
        return await asyncio.gather(*(ask(litellm.acompletion, messages=HELLO)
                                      for _ in range(16)))

    texts = {answer.choices[0].message.content for answer in asyncio.run(all_of_them())}
    assert len(texts) == 1
