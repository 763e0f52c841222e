"""What /metrics says, as Prometheus' own client library reads it, and the dashboard over it."""

import json
import math
import pathlib
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

DASHBOARD = pathlib.Path(__file__).parents[2] / "deploy" / "grafana" / "godwit.json"
METRIC = re.compile(r"vllm:[a-zA-Z0-9_]+")


@pytest.fixture
def exposition(server, client, model):
    """The text of /metrics after a whole answer and a streamed one."""
    client.completions.create(model=model, prompt="The quick", max_tokens=3)
    for _ in client.completions.create(model=model, prompt="The lazy", max_tokens=3, stream=True):
        pass
    return server.get("/metrics")


@pytest.fixture
def families(exposition):
    return list(text_string_to_metric_families(exposition))


def series(family):
    """Buckets of a histogram as (upper bound, count), with sum and count, for each set of labels."""
    found = {}
    for sample in family.samples:
        labels = frozenset((k, v) for k, v in sample.labels.items() if k != "le")
        one = found.setdefault(labels, {"buckets": []})
        if sample.name.endswith("_bucket"):
            one["buckets"].append((float(sample.labels["le"]), sample.value))
        else:
            one[sample.name.rsplit("_", 1)[1]] = sample.value
    return found.values()


def test_every_metric_has_a_help_and_a_type_once(exposition, families):
    lines = exposition.splitlines()
    for word in ("HELP", "TYPE"):
        names = [line.split()[2] for line in lines if line.startswith(f"# {word} ")]
        assert len(names) == len(set(names)) == len(families)
    for family in families:
        assert family.documentation and family.type in ("counter", "gauge", "histogram"), family.name
        assert family.samples, family.name


def test_every_sample_names_the_model_and_the_engine(families, model):
    for family in families:
        for sample in family.samples:
            assert sample.labels["model_name"] == model, sample
            assert sample.labels["engine"] == "0", sample
            assert math.isfinite(sample.value) and sample.value >= 0, sample


def test_no_sample_comes_twice(families):
    seen = [(s.name, frozenset(s.labels.items())) for f in families for s in f.samples]
    assert len(seen) == len(set(seen))


def test_counters_end_in_total(exposition):
    # The parser makes up a missing ending, so the lines themselves are asked.
    types = [line.split()[2:] for line in exposition.splitlines() if line.startswith("# TYPE ")]
    counters = [name for name, kind in types if kind == "counter"]
    assert counters and all(name.endswith("_total") for name in counters), counters


def test_buckets_rise_to_the_count(families):
    histograms = [family for family in families if family.type == "histogram"]
    assert histograms
    for family in histograms:
        for one in series(family):
            bounds = [bound for bound, _ in one["buckets"]]
            counts = [count for _, count in one["buckets"]]
            assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf, family.name
            assert counts == sorted(counts) and counts[-1] == one["count"], family.name
            assert one["sum"] >= 0, family.name


def test_the_dashboard_asks_only_for_metrics_that_exist(families):
    dashboard = json.loads(DASHBOARD.read_text())
    names = {sample.name for family in families for sample in family.samples}
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [variable["query"]["query"] for variable in dashboard["templating"]["list"]
                    if variable["type"] == "query"]
    assert len(expressions) > len(dashboard["panels"])
    for expression in expressions:
        asked = METRIC.findall(expression)
        assert asked, expression
        assert set(asked) <= names, expression
