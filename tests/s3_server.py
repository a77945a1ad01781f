"""As much of S3 as PyArrow speaks, over loopback: one bucket, its objects in memory, keys that are not checked."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

BUCKET = "bucket"


class Objects:
    """`held`: what the bucket holds. `read`: the names that were read, in order. `refused`: no write succeeds."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.read: list[str] = []
        self.refused = False
        self.port = 0

    def address(self, path: str) -> str:
        return f"s3://{BUCKET}/{path}?endpoint_override=127.0.0.1:{self.port}&scheme=http&region=here"


def _handler(objects: Objects) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None: ...

        def _place(self) -> tuple[str, dict[str, str]]:
            parts = urlsplit(self.path)
            name = unquote(parts.path).removeprefix(f"/{BUCKET}").removeprefix("/")
            return name, {key: own[0] for key, own in parse_qs(parts.query, keep_blank_values=True).items()}

        def _body(self) -> bytes:
            if self.headers.get("transfer-encoding") == "chunked":
                body = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if not self.headers.get("x-amz-content-sha256", "").startswith("STREAMING"):
                return body
            made, at = b"", 0
            while True:
                end = body.index(b"\r\n", at)
                size = int(body[at:end].split(b";")[0], 16)
                if not size:
                    return made
                made += body[end + 2 : end + 2 + size]
                at = end + 4 + size

        def _answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key.replace("_", "-"), value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _xml(self, name: str, inner: str) -> None:
            namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
            text = f'<?xml version="1.0" encoding="UTF-8"?><{name} xmlns="{namespace}">{inner}</{name}>'
            self._answer(200, text.encode(), Content_Type="application/xml")

        def do_PUT(self) -> None:
            (name, asked), body = self._place(), self._body()
            if objects.refused:
                self._answer(403)
                return
            if "partNumber" in asked:
                objects.parts[asked["uploadId"]][int(asked["partNumber"])] = body
            elif name:
                objects.held[name] = body
            self._answer(ETag=f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"')

        def do_POST(self) -> None:
            (name, asked), body = self._place(), self._body()
            if objects.refused:
                self._answer(403)
            elif "uploads" in asked:
                number = str(len(objects.parts))
                objects.parts[number] = {}
                self._xml(
                    "InitiateMultipartUploadResult",
                    f"<Bucket>{BUCKET}</Bucket><Key>{escape(name)}</Key><UploadId>{number}</UploadId>",
                )
            elif "uploadId" in asked:
                parts = objects.parts[asked["uploadId"]]
                objects.held[name] = b"".join(parts[number] for number in sorted(parts))
                self._xml("CompleteMultipartUploadResult", f"<Key>{escape(name)}</Key><ETag>x</ETag>")
            else:
                for key in body.decode().split("<Key>")[1:]:
                    objects.held.pop(key.split("</Key>")[0], None)
                self._xml("DeleteResult", "")

        def do_DELETE(self) -> None:
            objects.held.pop(self._place()[0], None)
            self._answer(204)

        def do_HEAD(self) -> None:
            name, _ = self._place()
            if name and name not in objects.held:
                self._answer(404)
            else:
                self._answer(Content_Length=str(len(objects.held.get(name, b""))), ETag='"x"')

        def do_GET(self) -> None:
            name, asked = self._place()
            if not name:
                self._list(asked)
                return
            if name not in objects.held:
                self._answer(404)
                return
            objects.read.append(name)
            held = objects.held[name]
            ranged = self.headers.get("range")
            if ranged is None:
                self._answer(200, held)
                return
            first, last = (int(each) for each in ranged.removeprefix("bytes=").split("-"))
            part = held[first : last + 1]
            self._answer(206, part, Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(held)}")

        def _list(self, asked: dict[str, str]) -> None:
            prefix, between = asked.get("prefix", ""), asked.get("delimiter", "")
            names, folders = [], set()
            for name in sorted(objects.held):
                if name.startswith(prefix):
                    rest = name.removeprefix(prefix)
                    if between and between in rest:
                        folders.add(prefix + rest.split(between)[0] + between)
                    else:
                        names.append(name)
            names = names[: int(asked.get("max-keys", 1000))]
            inner = "".join(
                f"<Contents><Key>{quote(name)}</Key><Size>{len(objects.held[name])}</Size>"
                "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
                for name in names
            )
            inner += "".join(
                f"<CommonPrefixes><Prefix>{quote(each)}</Prefix></CommonPrefixes>" for each in sorted(folders)
            )
            count = len(names) + len(folders)
            self._xml(
                "ListBucketResult",
                f"<Name>{BUCKET}</Name><KeyCount>{count}</KeyCount><IsTruncated>false</IsTruncated>{inner}",
            )

    return Handler


@contextmanager
def s3_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Objects]:
    """A server, and keys for it in the environment."""
    objects = Objects()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(objects))
    objects.port = server.server_address[1]
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    try:
        yield objects
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
