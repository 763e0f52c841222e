"""A hub on loopback: the part of the hub's HTTP that downloads use, with files kept in memory.

Small files have the SHA-1 that git gives them as ETag and are sent by the hub itself; large ones (as
Git LFS keeps) have their SHA-256 and lie on another origin, to which the hub redirects.
"""

import hashlib
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGE = (".safetensors", ".gguf", "tokenizer.json")


class File:
    def __init__(self, name, data):
        self.name = name
        self.data = data
        self.large = name.endswith(LARGE)
        self.oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        self.etag = hashlib.sha256(data).hexdigest() if self.large else self.oid

    def tree_entry(self):
        entry = {"type": "file", "path": self.name, "size": len(self.data), "oid": self.oid}
        if self.large:
            entry["lfs"] = {"oid": self.etag, "size": len(self.data), "pointerSize": 130}
        return entry


class Repository:
    """One state per commit; branches and tags name commits."""

    def __init__(self):
        self.commits = {}
        self.refs = {}

    def commit(self, files, *refs):
        commit = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.commits[commit] = {name: File(name, data) for name, data in files.items()}
        for ref in refs:
            self.refs[ref] = commit
        return commit

    def resolve(self, revision):
        return self.refs.get(revision, revision if revision in self.commits else None)


class Hub:
    """Answers until it is closed; `requests` lists (method, path, headers) of both origins."""

    def __init__(self, token=None):
        self.repositories = {}
        self.renamed = {}
        self.token = token
        self.requests = []
        self.cdn_requests = []
        self.cut_after = None  # The CDN drops each connection after so many bytes of a body.
        self._cdn = self._start(_cdn_handler(self))
        self._hub = self._start(_hub_handler(self))
        self.url = f"http://127.0.0.1:{self._hub.server_port}"
        self.cdn_url = f"http://localhost:{self._cdn.server_port}"

    def _start(self, handler):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01},
                         daemon=True).start()
        return server

    def add(self, name, files, *refs):
        repository = self.repositories.setdefault(name, Repository())
        return repository.commit(files, *(refs or ("main",)))

    def find_large(self, etag):
        for repository in self.repositories.values():
            for files in repository.commits.values():
                for file in files.values():
                    if file.etag == etag:
                        return file
        return None

    def close(self):
        for server in (self._hub, self._cdn):
            server.shutdown()
            server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_bytes(self, data, headers, cut_after=None):
        status, begin = 200, 0
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted:
            begin = int(wanted[1])
            if begin >= len(data):
                return self.answer(416)
            status = 206
            headers = [*headers, ("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")]
        body = data[begin:]
        headers = [*headers, ("Content-Length", str(len(body)))]
        if cut_after is not None and len(body) > cut_after:
            self.close_connection = True
            body = body[:cut_after]
        return self.answer(status, headers, body)

    def do_HEAD(self):
        self.do_GET()


def _cdn_handler(hub):
    class Handler(_Handler):
        def do_GET(self):
            hub.cdn_requests.append((self.command, self.path, dict(self.headers)))
            file = hub.find_large(self.path.split("?")[0].rsplit("/", 1)[-1])
            if file is None or "signed=yes" not in self.path:
                return self.answer(403)
            return self.send_bytes(file.data, [("ETag", f'"{file.etag}"')], hub.cut_after)

    return Handler


def _hub_handler(hub):
    class Handler(_Handler):
        def do_GET(self):
            hub.requests.append((self.command, self.path, dict(self.headers)))
            path = urllib.parse.urlsplit(self.path).path
            for old, new in hub.renamed.items():
                if f"/{old}/" in path:
                    return self.answer(307, [("Location", self.path.replace(old, new))])
            api = re.fullmatch(r"/api/models/([^/]+/[^/]+)/(revision|tree)/([^/]+)/?", path)
            file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
            match = api or file
            repository = hub.repositories.get(match[1]) if match else None
            if repository is None:
                return self.answer(401, [("X-Error-Code", "RepoNotFound")])
            if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
                return self.answer(401, [("X-Error-Code", "GatedRepo")])
            revision = urllib.parse.unquote(match[3] if api else match[2])
            commit = repository.resolve(revision)
            if commit is None:
                return self.answer(404, [("X-Error-Code", "RevisionNotFound")])
            if api:
                return self.answer_api(match[1], api[2], commit, repository.commits[commit])
            return self.answer_file(commit, repository.commits[commit],
                                    urllib.parse.unquote(file[3]))

        def answer_api(self, name, kind, commit, files):
            if kind == "tree":
                body = [file.tree_entry() for file in files.values()]
            else:
                body = {"_id": "0", "id": name, "sha": commit, "private": False,
                        "siblings": [{"rfilename": file} for file in files]}
            return self.answer(200, [("Content-Type", "application/json")],
                               json.dumps(body).encode())

        def answer_file(self, commit, files, name):
            file = files.get(name)
            if file is None:
                return self.answer(404, [("X-Error-Code", "EntryNotFound"),
                                         ("X-Repo-Commit", commit)])
            headers = [("X-Repo-Commit", commit), ("Accept-Ranges", "bytes")]
            if not file.large:
                return self.send_bytes(file.data, [*headers, ("ETag", f'"{file.etag}"')])
            return self.answer(302, [
                *headers, ("Location", f"{hub.cdn_url}/store/{file.etag}?signed=yes"),
                ("X-Linked-Etag", f'"{file.etag}"'), ("X-Linked-Size", str(len(file.data)))])

    return Handler
