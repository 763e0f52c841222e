"""Fields beyond OpenAI's, through `extra_body` of the `openai` package."""

import math

import openai
import pytest

HELLO = [{"role": "user", "content": "Say something."}]


def chat(client, model, extra=None, **fields):
    fields = {"temperature": 0, "max_tokens": 8, **fields}
    return client.chat.completions.create(model=model, messages=HELLO,
                                          extra_body={"ignore_eos": True, **(extra or {})},
                                          **fields)


def complete(client, model, extra=None, **fields):
    fields = {"prompt": "the quick", "temperature": 0, "max_tokens": 8, **fields}
    return client.completions.create(model=model, extra_body={"ignore_eos": True, **(extra or {})},
                                     **fields)


def ids(choice):
    return choice.model_dump()["token_ids"]


def test_allowed_token_ids(client, model):
    answer = chat(client, model, {"allowed_token_ids": [70, 90], "return_token_ids": True},
                  temperature=2, n=4)
    drawn = {token for choice in answer.choices for token in ids(choice)}
    assert drawn == {70, 90}


def test_bad_words_change_the_text_where_they_would_stand(client, model):
    plain = complete(client, model, {"return_token_ids": True}, max_tokens=24).choices[0]
    word = next(word for word in plain.text.split() if len(word) > 2)
    clean = complete(client, model, {"bad_words": [word]}, max_tokens=24).choices[0]
    assert clean.text != plain.text
    assert word not in clean.text.split()


def test_logprob_token_ids_are_those_of_the_full_list(client, model):
    wanted = [5, 70, 300]
    chosen = chat(client, model, {"logprob_token_ids": wanted, "return_tokens_as_token_ids": True},
                  logprobs=True).choices[0]
    full = chat(client, model, {"return_tokens_as_token_ids": True, "logprob_token_ids": list(
        range(250, 310))}, logprobs=True).choices[0]
    for some, many in zip(chosen.logprobs.content, full.logprobs.content, strict=True):
        assert [top.token for top in some.top_logprobs] == [f"token_id:{id}" for id in wanted]
        values = {top.token: top.logprob for top in many.top_logprobs}
        assert some.top_logprobs[2].logprob == values["token_id:300"]
        assert sum(math.exp(value) for value in values.values()) <= 1


def test_repetition_ends_the_output(client, model):
    answer = chat(client, model, {
        "allowed_token_ids": [70],
        "repetition_detection": {"max_pattern_size": 2, "min_pattern_size": 1, "min_count": 5},
    }, max_tokens=20).choices[0].model_dump()
    assert (answer["finish_reason"], answer["stop_reason"]) == ("repetition", "repetition_detected")


def test_a_cut_prompt_is_the_end_of_the_whole_one(client, model):
    whole = complete(client, model, {"return_token_ids": True}, prompt="one two three four")
    prompt = whole.choices[0].model_dump()["prompt_token_ids"]
    cut = complete(client, model, {"truncate_prompt_tokens": 3, "return_token_ids": True},
                   prompt="one two three four")
    assert cut.choices[0].model_dump()["prompt_token_ids"] == prompt[-3:]
    assert cut.usage.prompt_tokens == 3
    assert cut.choices[0].text == complete(client, model, prompt=prompt[-3:]).choices[0].text


def test_template_of_the_request(client, model):
    answer = chat(client, model, {
        "chat_template": "{{ messages[0].content }} {{ mood }} {{ reasoning_effort }}",
        "chat_template_kwargs": {"mood": "good"}, "return_prompt_text": True,
    }, reasoning_effort="low")
    assert answer.model_dump()["prompt_text"] == "Say something. good low"


def test_stream_interval_changes_the_events_and_not_the_text(client, model):
    def pieces(interval):
        stream = complete(client, model, {"stream_interval": interval}, max_tokens=13, stream=True)
        return [chunk.choices[0].text for chunk in stream]

    every, few = pieces(1), pieces(5)
    assert "".join(every) == "".join(few)
    assert len(few) == 4  # 1, 5, 5 and the last 2


@pytest.mark.parametrize("field, value", [
    ("use_beam_search", True), ("allowed_token_ids", []), ("cache_salt", "a@b"),
    ("structured_outputs", {"regex": "a"}), ("truncation_side", 3), ("stream_interval", 0),
])
def test_what_cannot_be_is_refused_by_name(client, model, field, value):
    with pytest.raises(openai.BadRequestError) as refused:
        chat(client, model, {field: value})
    assert refused.value.param == field
