"""A small REST client: bearer token, problem documents as exceptions, cursor paging, and safe retries.

Every write carries an Idempotency-Key, and a retry carries the same one: a connection that broke after the server had
committed never buys twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx

from cli.errors import Problem, ServerUnavailable

ATTEMPTS = 5
_RETRY_STATUS = frozenset({502, 503, 504})
_BACK_OFF_S = 0.2
_MAX_PAUSE_S = 10.0
PREFIX = "/api/v1"


class Client:
    """`server` is the base address; paths are below ``/api/v1`` (``"/offers"``) unless they start with it."""

    def __init__(
        self, server: str, token: str = "", *, timeout_s: float = 30.0, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        headers = {"Accept": "application/json, application/problem+json", "User-Agent": "vxpu-cli/1"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=server.rstrip("/"), headers=headers, timeout=timeout_s, follow_redirects=False
        )
        self._sleep = sleep
        self.server = server.rstrip("/")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """The JSON document at `path`. Raises Problem, ServerUnavailable."""
        return _document(self._send("GET", path, query=query))

    def get_text(self, path: str, **query: Any) -> str:
        """The body as the server wrote it, for example an invoice's CSV."""
        return self._send("GET", path, query=query, accept="*/*").text

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, key: str = "") -> Any:
        """Create or act. `key` is the Idempotency-Key; one is made for this call when none is given."""
        return _document(self._send("POST", path, body=body or {}, key=key or str(uuid4())))

    def put(self, path: str, body: Mapping[str, Any], *, key: str = "") -> Any:
        return _document(self._send("PUT", path, body=body, key=key or str(uuid4())))

    def delete(self, path: str) -> None:
        self._send("DELETE", path, key=str(uuid4()))

    def pages(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Each row of a paged list, fetching the next page when it is needed; a plain list is taken as one page."""
        cursor: str | None = None
        while True:
            page = self.get(path, **query, **({"cursor": cursor} if cursor else {}))
            yield from page if isinstance(page, list) else page.get("items", [])
            cursor = None if isinstance(page, list) else _cursor_of(page.get("next"))
            if not cursor:
                return

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str = "",
        accept: str = "",
    ) -> httpx.Response:
        url = path if path.startswith(PREFIX) else PREFIX + path
        params = {name: value for name, value in (query or {}).items() if value is not None}
        headers = {**({"Idempotency-Key": key} if key else {}), **({"Accept": accept} if accept else {})}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = self._http.request(method, url, params=params, json=body, headers=headers)
            except httpx.TransportError as error:
                if attempt == ATTEMPTS:
                    raise ServerUnavailable(
                        f"{self.server} does not answer: {error or type(error).__name__}",
                        suggestion="check VXPU_SERVER and that the server is up, then repeat the command",
                    ) from error
                self._sleep(_BACK_OFF_S * 2 ** (attempt - 1))
                continue
            pause = _retry_after(answer, attempt)
            if pause is None or attempt == ATTEMPTS:
                return _checked(answer)
            self._sleep(pause)
        raise AssertionError("unreachable: the last attempt returns or raises")


def _retry_after(answer: httpx.Response, attempt: int) -> float | None:
    """Seconds to wait before the same request again, or None when the answer stands."""
    in_flight = answer.status_code == 409 and "retry-after" in answer.headers
    if answer.status_code not in _RETRY_STATUS and not in_flight:
        return None
    try:
        asked = float(answer.headers.get("retry-after", ""))
    except ValueError:
        asked = _BACK_OFF_S * 2 ** (attempt - 1)
    return min(asked, _MAX_PAUSE_S)


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.status_code < 300:
        return answer
    document: Any = None
    if "json" in answer.headers.get("content-type", ""):
        document = answer.json()
    if not isinstance(document, dict):
        document = {"title": f"HTTP {answer.status_code} {answer.reason_phrase}", "detail": answer.text[:400]}
    raise Problem(answer.status_code, document)


def _document(answer: httpx.Response) -> Any:
    return answer.json() if answer.content else {}


def _cursor_of(following: str | None) -> str | None:
    """`next` may be the cursor itself or an address that holds it."""
    if not following:
        return None
    if "cursor=" in following:
        return str(httpx.URL(following).params.get("cursor", "")) or None
    return following
