"""The log: lines about requests and throughput, as text and as JSON, and the traces they belong to."""

import json

import httpx2 as httpx

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def complete(server, **headers):
    body = {"prompt": "the", "max_tokens": 2, "temperature": 0}
    return httpx.post(server.url + "/v1/completions", json=body, headers=headers, timeout=60)


def test_json_lines_tell_of_requests_and_traces(start_server, tmp_path):
    log = tmp_path / "log"
    server = start_server("--log-format", "json", "--enable-log-requests",
                          "--disable-access-log-for-endpoints", "/readyz,/health", log=log)
    answer = complete(server, **{"X-Request-Id": 'm"1', "traceparent": f"00-{TRACE}-{SPAN}-01",
                                 "tracestate": "vendor=1, other=2"})
    version, trace, span, flags = answer.headers["traceresponse"].split("-")
    assert (version, trace, flags) == ("00", TRACE, "01") and span != SPAN
    untraced = complete(server, traceparent=f"00-{'0' * 32}-{SPAN}-01")
    assert "traceresponse" not in untraced.headers
    assert "x-request-id" not in untraced.headers
    httpx.get(server.url + "/health")
    httpx.get(server.url + "/no%0Asuch")
    assert server.stop() == 0

    records = [json.loads(line) for line in lines(log)]
    assert all({"time", "level", "message"} <= record.keys() for record in records)
    access = [record for record in records if "status" in record]
    assert [(r["method"], r["path"], r["status"]) for r in access] == [
        ("POST", "/v1/completions", 200), ("POST", "/v1/completions", 200), ("GET", "/no?such", 404)]
    first = access[0]
    assert first["request_id"] == 'm"1' and first["ms"] > 0
    assert first["trace_id"] == TRACE and first["parent_span_id"] == SPAN
    assert first["span_id"] == span and first["tracestate"] == "vendor=1,other=2"
    assert "trace_id" not in access[1] and len(access[1]["request_id"]) == 32
    engine = [record for record in records if "prompt_tokens" in record]
    assert len(engine) == 2 and engine[0]["id"].startswith('cmpl-m"1')
    assert engine[0]["parameters"]["max_tokens"] == 2


def test_text_lines_and_what_switches_them_off(start_server, tmp_path):
    loud, silent = tmp_path / "loud", tmp_path / "silent"
    server = start_server(log=loud)
    complete(server, **{"X-Request-Id": "mine"})
    assert server.stop() == 0
    assert any("POST /v1/completions 200 " in line and line.endswith("request mine")
               for line in lines(loud))
    server = start_server("--disable-uvicorn-access-log", "--disable-log-stats", log=silent)
    complete(server)
    assert server.stop() == 0
    assert not any("/v1/completions" in line for line in lines(silent))


def test_a_stream_that_the_server_cuts_says_so(start_server, tmp_path):
    log = tmp_path / "log"
    server = start_server("--shutdown-timeout", "0", "--log-format", "json", log=log)
    limit = httpx.get(server.url + "/v1/models").json()["data"][0]["max_model_len"]
    body = {"prompt": "the", "max_tokens": limit - 10, "ignore_eos": True, "stream": True}
    with httpx.stream("POST", server.url + "/v1/completions", json=body, timeout=60) as answer:
        events = answer.iter_lines()
        assert next(events).startswith("data: ")
        server.process.terminate()
        rest = [line for line in events if line]
    assert rest[-1] == "data: [DONE]"
    assert json.loads(rest[-2].removeprefix("data: "))["error"]["code"] == "unavailable"
    assert server.process.wait(timeout=30) == 0
