"""HTTPS, with certificates of an authority that the test makes."""

import socket
import ssl
import subprocess

import httpx2 as httpx
import openai
import pytest


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.certificate = folder / "ca.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", folder / "ca.key", "-out", self.certificate, "-days", "2",
                "-subj", "/CN=test authority")

    def issue(self, name):
        """Makes a certificate for 127.0.0.1; returns its file and its key's."""
        key, request = self.folder / f"{name}.key", self.folder / f"{name}.csr"
        certificate, extensions = self.folder / f"{name}.pem", self.folder / f"{name}.ext"
        extensions.write_text("subjectAltName=IP:127.0.0.1\n", encoding="ascii")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey",
                self.folder / "ca.key", "-CAcreateserial", "-out", certificate, "-days", "2",
                "-extfile", extensions)
        return certificate, key


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def context(authority, client=None):
    trusting = ssl.create_default_context(cafile=authority.certificate)
    if client is not None:
        trusting.load_cert_chain(*client)
    return trusting


def start_tls(start_server, authority, *flags, client=None):
    certificate, key = authority.issue("server")

    def probe(server):
        try:
            httpx.get(f"https://127.0.0.1:{server.port}/readyz",
                      verify=context(authority, client), timeout=5)
        except httpx.TransportError as error:
            raise OSError from error

    return start_server("--ssl-certfile", str(certificate), "--ssl-keyfile", str(key), *flags,
                        probe=probe)


def test_openai_over_tls_and_what_is_no_tls(start_server, authority):
    server = start_tls(start_server, authority)
    url = f"https://127.0.0.1:{server.port}"
    with httpx.Client(verify=context(authority)) as web:
        client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, http_client=web)
        model = client.models.list().data[0].id
        chunks = list(client.completions.create(model=model, prompt="the quick", max_tokens=8,
                                                temperature=0, stream=True))
        whole = client.completions.create(model=model, prompt="the quick", max_tokens=8,
                                          temperature=0)
        assert "".join(chunk.choices[0].text for chunk in chunks) == whole.choices[0].text
        large = web.post(url + "/tokenize", json={"prompt": "word " * 100_000}, timeout=60)
        assert large.status_code == 200 and large.json()["count"] > 100_000
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, verify=True)  # The system does not know this authority.
    for maximum in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        limited = context(authority)
        limited.maximum_version = maximum
        assert httpx.get(url + "/health", verify=limited).status_code == 200

    # Plain HTTP is told so, and silence or noise in the handshake harms nobody else.
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert plain.recv(1000).startswith(b"HTTP/1.1 400 ")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as silent, \
            socket.create_connection(("127.0.0.1", server.port), timeout=20) as noisy:
        silent.sendall(b"\x16\x03\x01")
        noisy.sendall(b"\x00" * 1000)
        received = noisy.recv(1000)  # At most an alert.
        assert not received.startswith(b"HTTP")
        assert httpx.get(url + "/health", verify=context(authority)).status_code == 200
    assert server.stop() == 0


def test_clients_show_certificates(start_server, authority, tmp_path):
    client = authority.issue("client")
    server = start_tls(start_server, authority, "--ssl-ca-certs", str(authority.certificate),
                       "--ssl-cert-reqs", "2", client=client)
    url = f"https://127.0.0.1:{server.port}/health"
    with httpx.Client(verify=context(authority, client)) as known:
        assert known.get(url).status_code == 200
    stranger = Authority(tmp_path).issue("stranger")
    for shown in (None, stranger):
        with pytest.raises(httpx.TransportError):
            httpx.get(url, verify=context(authority, shown))
    assert server.stop() == 0
