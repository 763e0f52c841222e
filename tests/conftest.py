"""Starts the server that the end-to-end tests talk to.

GODWIT_BINARY names the program and GODWIT_MODEL a model folder with a tokenizer and a chat template;
without them the tests are skipped.
"""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

import openai
import pytest

START_SECONDS = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running `godwit serve`.

    `probe` asks whether it is ready, when that takes more than a GET over plain HTTP; `log` is the file
    that its log goes to.
    """

    def __init__(self, *flags, probe=None, log=None):
        binary = os.environ.get("GODWIT_BINARY")
        model = os.environ.get("GODWIT_MODEL")
        if not binary or not model:
            pytest.skip("GODWIT_BINARY and GODWIT_MODEL are not set")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [binary, "serve", model, "--host", "127.0.0.1", "--port", str(self.port), *flags]
        if log is None:
            self.process = subprocess.Popen(command)
        else:
            with open(log, "w", encoding="utf-8") as errors:
                self.process = subprocess.Popen(command, stderr=errors)
        self._wait_until_ready(probe or self._probe)

    def _probe(self, _):
        with urllib.request.urlopen(self.url + "/readyz", timeout=1):
            pass

    def _wait_until_ready(self, probe):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, "the server ended while it started"
            try:
                probe(self)
                return
            except (urllib.error.URLError, OSError):
                continue
        self.stop()
        raise AssertionError(f"the server is not ready after {START_SECONDS} s")

    def client(self, **options):
        return openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0, timeout=60,
                             **options)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as response:
            return response.read().decode()

    def metric(self, name, label=""):
        """Sums the samples of a metric that carry a label."""
        total = 0.0
        for line in self.get("/metrics").splitlines():
            if line.startswith((name + "{", name + " ")) and label in line:
                total += float(line.rsplit(" ", 1)[1])
        return total

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


@pytest.fixture(scope="session")
def server():
    running = Server()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="session")
def client(server):
    return server.client()


@pytest.fixture(scope="session")
def model(client):
    return client.models.list().data[0].id


@pytest.fixture
def start_server():
    """Starts servers of the test's own; whatever still runs at the end is stopped."""
    started = []

    def start(*flags, **options):
        started.append(Server(*flags, **options))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.stop()
