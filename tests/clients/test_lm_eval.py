"""The API as lm-eval meets it: log likelihoods through echo and logprobs, equal to those that
Hugging Face gave for the same tokens; and generation until a stop string, plain and as chat."""

import json
import os
import pathlib
import urllib.request

import pytest

for offline in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
    os.environ[offline] = "1"
lm_eval = pytest.importorskip("lm_eval")

from lm_eval.tasks import TaskManager  # noqa: E402

# Of the fixtures' README: what an engine in float32 may differ by, a token.
TOLERANCE = 2e-3

CHOICES = """
task: choices
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: context
doc_to_target: 0
target_delimiter: ""
doc_to_choice: "{{{{[right, wrong]}}}}"
metric_list: [{{metric: acc}}]
"""

WORDS = """
task: words
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: context
doc_to_target: right
generation_kwargs: {{until: ["\\n\\n"], max_gen_toks: 8, temperature: 0}}
metric_list: [{{metric: exact_match}}]
"""


@pytest.fixture(scope="module")
def golden():
    folder = pathlib.Path(os.environ["GODWIT_MODEL"])
    return json.loads((folder / "golden.json").read_text())


@pytest.fixture(scope="module")
def exact_server():
    """A server that computes in float32, as the golden values were."""
    from conftest import Server
    running = Server("--dtype", "float32")
    yield running
    assert running.stop() == 0


@pytest.fixture
def evaluate(exact_server, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    model = exact_server.client().models.list().data[0].id

    def run(kind, path, task, docs, **options):
        data = tmp_path / "docs.jsonl"
        data.write_text("".join(json.dumps(doc) + "\n" for doc in docs))
        (tmp_path / "task.yaml").write_text(task.format(data=data))
        return lm_eval.simple_evaluate(
            model=kind, model_args={"model": model, "base_url": exact_server.url + path,
                                    "num_concurrent": 1, "max_retries": 1, **options},
            tasks=[docs[0]["task"]], log_samples=True, bootstrap_iters=0, limit=None,
            task_manager=TaskManager(include_path=str(tmp_path), include_defaults=False),
            **({"apply_chat_template": True} if "chat" in kind else {}))

    return run


def text_of(server, ids):
    request = urllib.request.Request(server.url + "/detokenize",
                                     json.dumps({"tokens": ids}).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["prompt"]


def test_loglikelihood_is_that_of_hugging_face(evaluate, exact_server, golden):
    docs, expected = [], []
    for prompt in golden["prompts"]:
        ids = prompt["ids"]
        if len(ids) < 6:
            continue
        half = len(ids) // 2
        docs.append({"task": "choices", "context": text_of(exact_server, ids[:half]),
                     "right": text_of(exact_server, ids[half:]), "wrong": " zz zz zz zz"})
        expected.append((sum(prompt["next_logprobs"][half - 1:]), len(ids) - half))
    assert docs
    results = evaluate("local-completions", "/v1/completions", CHOICES, docs)
    samples = sorted(results["samples"]["choices"], key=lambda sample: sample["doc_id"])
    for sample, (logprob, tokens) in zip(samples, expected, strict=True):
        got = float(sample["filtered_resps"][0][0])
        assert abs(got - logprob) <= TOLERANCE * golden["logit_std"] * tokens
    assert "acc,none" in results["results"]["choices"]


@pytest.mark.parametrize("kind, path", [
    ("local-completions", "/v1/completions"),
    ("local-chat-completions", "/v1/chat/completions"),
])
def test_generate_until(evaluate, exact_server, kind, path):
    context = "Once upon a time"
    client = exact_server.client()
    model = client.models.list().data[0].id
    if "chat" in kind:
        text = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": context}], max_tokens=8,
            temperature=0, stop=["\n\n"]).choices[0].message.content
    else:
        text = client.completions.create(model=model, prompt=context, max_tokens=8, temperature=0,
                                         stop=["\n\n"]).choices[0].text
    results = evaluate(kind, path, WORDS, [{"task": "words", "context": context, "right": text}])
    assert results["samples"]["words"][0]["resps"][0][0] == text
