"""The REST API as the demo calls it: one token, JSON in and out, a problem document as an exception."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import httpx

AWAY = frozenset({502, 503, 504})
TRIES = 20
PAUSE_S = 0.5


class Refused(RuntimeError):
    """The server answered a problem document."""

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        super().__init__(f"{status} {document.get('code')}: {document.get('detail') or document.get('title')}")
        self.status = status
        self.document = document


class Api:
    """`base` is the site's address; paths are below ``/api/v1``."""

    def __init__(self, base: str, token: str) -> None:
        self.token = token
        # A connection for each request: nothing is left open, however many of these there are.
        transport = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=f"{base}/api/v1/", headers=headers, timeout=30, transport=transport)

    def get(self, path: str, **query: Any) -> Any:
        """The document at `path`. Raises Refused, httpx.TransportError."""
        return _document(self._send("GET", path, params=query))

    def text(self, path: str) -> str:
        """The body as the server wrote it."""
        return self._send("GET", path).text

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Create or act, with an Idempotency-Key of its own that a repeat keeps. Raises as `get`."""
        return _document(self._send("POST", path, json=body or {}, headers={"Idempotency-Key": str(uuid4())}))

    def put(self, path: str, body: dict[str, Any]) -> Any:
        """Set. Raises as `get`."""
        return _document(self._send("PUT", path, json=body))

    def delete(self, path: str) -> None:
        """Raises as `get`."""
        self._send("DELETE", path)

    def rows(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """All rows of a paged list."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.get(path, **query, **({"cursor": cursor} if cursor else {}))
            found += page["items"]
            cursor = page["next"]
        return found

    def _send(self, method: str, path: str, **what: Any) -> httpx.Response:
        """A server that is away or busy is asked again, for some ten seconds."""
        for last in (False,) * TRIES + (True,):
            try:
                answer = self._http.request(method, path, **what)
            except httpx.TransportError:
                if last:
                    raise
            else:
                if last or answer.status_code not in AWAY:
                    return _checked(answer)
            time.sleep(PAUSE_S)
        raise AssertionError("unreachable: the last try returns or raises")


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        is_problem = answer.headers.get("content-type", "").startswith("application/problem+json")
        raise Refused(answer.status_code, answer.json() if is_problem else {"title": answer.text[:400]})
    return answer


def _document(answer: httpx.Response) -> Any:
    return answer.json() if answer.content else {}
