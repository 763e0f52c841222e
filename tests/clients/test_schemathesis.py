"""Fuzzes a server by its own OpenAPI description: never a 5xx, never a crash, and every answer as
described."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("schemathesis")

# Of all checks but one: what a schema cannot say, such as how long a prompt may be for this model,
# makes some valid bodies a 400.
CHECKS = ",".join([
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "negative_data_rejection", "unsupported_method",
    "missing_required_header",
])


def test_every_endpoint(start_server, tmp_path):
    # A small context keeps the answers short.
    running = start_server("--max-model-len", "64", "--max-num-seqs", "8")
    command = pathlib.Path(sys.executable).with_name("schemathesis")
    done = subprocess.run(
        [command, "run", running.url + "/openapi.json", "--phases", "coverage,fuzzing",
         "--max-examples", "40", "--seed", "20261201", "--checks", CHECKS,
         "--suppress-health-check", "all", "--request-timeout", "60", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, timeout=480, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert running.process.poll() is None
    described = json.loads(running.get("/openapi.json"))["paths"]
    # It may leave out the description itself.
    assert int(re.search(r"Tested: (\d+)", done.stdout)[1]) >= len(described) - 1
    assert running.stop() == 0
