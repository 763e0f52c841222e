"""Where the server listens, under which prefix, and for whose pages."""

import os
import socket
import stat
import subprocess

import httpx2 as httpx
import pytest


def unix_client(path):
    return httpx.Client(transport=httpx.HTTPTransport(uds=path), base_url="http://godwit")


def start_unix(start_server, path, *flags):
    def probe(_):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)

    return start_server("--uds", path, *flags, probe=probe)


def refusal(*flags):
    binary, model = os.environ["GODWIT_BINARY"], os.environ["GODWIT_MODEL"]
    done = subprocess.run([binary, "serve", model, *flags], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    return done.stderr


def test_unix_socket(start_server, tmp_path):
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(path)  # Nobody listens there: what a killed server leaves.
    server = start_unix(start_server, path)
    with unix_client(path) as client:
        model = client.get("/v1/models").json()["data"][0]["id"]
        answer = client.post("/v1/completions", json={"model": model, "prompt": "the", "max_tokens": 2})
        assert answer.status_code == 200
    assert "used by another program" in refusal("--uds", path)
    assert stat.S_ISSOCK(os.stat(path).st_mode)  # The other one left it alone.
    assert server.stop() == 0
    assert not os.path.exists(path)


def test_unix_socket_paths_that_cannot_be(tmp_path, model):
    file = tmp_path / "file"
    file.write_text("kept", encoding="ascii")
    assert "is no socket" in refusal("--uds", str(file))
    assert file.read_text(encoding="ascii") == "kept"
    assert "longer than" in refusal("--uds", str(tmp_path / ("x" * 200)))
    assert "cannot listen" in refusal("--uds", str(tmp_path / "missing" / "socket"))


def test_root_path_cors_and_request_ids(start_server):
    server = start_server("--root-path", "/api", "--allowed-origins", '["https://a.example"]',
                          "--allow-credentials", "--enable-request-id-headers",
                          "--max-num-queued-reqs", "1", "--api-key", "key")
    with httpx.Client(base_url=server.url, headers={"Authorization": "Bearer key"}) as client:
        for path in ("/v1/models", "/api/v1/models"):
            assert client.get(path).status_code == 200
        assert client.get("/apiv1/models").status_code == 404
        assert client.get("/api/openapi.json").json()["servers"] == [{"url": "/api"}]
        answer = client.get("/health", headers={"Origin": "https://a.example", "X-Request-Id": "mine"})
        assert answer.headers["access-control-allow-origin"] == "https://a.example"
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert answer.headers["x-request-id"] == "mine"
        other = client.get("/health", headers={"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in other.headers
        assert len(other.headers["x-request-id"]) == 32
        preflight = {"Access-Control-Request-Method": "POST",
                     "Access-Control-Request-Headers": "authorization"}
        allowed = client.options("/v1/completions",
                                 headers={"Origin": "https://a.example", **preflight})
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-headers"] == "authorization"
        refused = client.options("/v1/completions",
                                 headers={"Origin": "https://b.example", **preflight})
        assert refused.status_code == 400
        body = {"prompt": "the", "max_tokens": 2, "n": 1}
        named = client.post("/v1/completions", json=body, headers={"X-Request-Id": "mine"})
        assert named.json()["id"].startswith("cmpl-mine")


@pytest.mark.parametrize("path", ["/v1/models", "/tokenize", "/tokenizer_info"])
def test_a_key_guards_all_but_what_operators_probe(start_server, path):
    server = start_server("--api-key", "key")
    assert httpx.get(server.url + path).status_code in (401, 405)
    for public in ("/health", "/ping", "/version", "/metrics", "/openapi.json"):
        assert httpx.get(server.url + public).status_code == 200


def test_a_full_queue_is_503(start_server):
    server = start_server("--max-num-queued-reqs", "1")
    body = {"prompt": "the", "max_tokens": 100_000, "ignore_eos": True, "stream": True}
    limit = httpx.get(server.url + "/v1/models").json()["data"][0]["max_model_len"]
    body["max_tokens"] = limit - 10
    with httpx.stream("POST", server.url + "/v1/completions", json=body, timeout=60) as running:
        assert running.status_code == 200
        full = httpx.post(server.url + "/v1/completions", json={"prompt": "a", "max_tokens": 1})
        assert full.status_code == 503
        assert int(full.headers["retry-after"]) > 0
        assert full.json()["error"]["code"] == "overloaded"
