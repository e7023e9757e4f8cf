"""The REST API as the demo calls it: one token, JSON in and out, a problem document as an exception."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import httpx

BUSY = 503
BUSY_TRIES = 3


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
        self._http = httpx.Client(
            base_url=f"{base}/api/v1/", headers={"Authorization": f"Bearer {token}"}, timeout=30,
            transport=httpx.HTTPTransport(retries=3),
        )  # fmt: skip

    def get(self, path: str, **query: Any) -> Any:
        """The document at `path`. Raises Refused, httpx.TransportError."""
        return self._read(self._http.get(path, params=query))

    def text(self, path: str) -> str:
        answer = self._http.get(path)
        if answer.is_error:
            self._read(answer)
        return answer.text

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Create or act, with an Idempotency-Key of its own; "busy" is tried again as it asks. Raises Refused."""
        headers = {"Idempotency-Key": str(uuid4())}
        for _ in range(BUSY_TRIES):
            answer = self._http.post(path, json=body or {}, headers=headers)
            if answer.status_code != BUSY:
                break
            time.sleep(float(answer.headers.get("Retry-After", "1")))
        return self._read(answer)

    def put(self, path: str, body: dict[str, Any]) -> Any:
        return self._read(self._http.put(path, json=body, headers={"Idempotency-Key": str(uuid4())}))

    def rows(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """All rows of a paged list."""
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = self.get(path, **query, **({"cursor": cursor} if cursor else {}))
            found += page["items"]
            cursor = page["next"]
        return found

    @staticmethod
    def _read(answer: httpx.Response) -> Any:
        if answer.is_error:
            is_problem = answer.headers.get("content-type", "").startswith("application/problem+json")
            document = answer.json() if is_problem else {"title": answer.text[:400]}
            raise Refused(answer.status_code, document)
        return answer.json() if answer.content else {}
