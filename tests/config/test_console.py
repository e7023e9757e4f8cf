"""The page of the web console: its nonce and policy, its addresses, its files, and what is there without a build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.conf import settings as django_settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from whitenoise.middleware import WhiteNoiseMiddleware

INDEX = """<!doctype html><html><head><meta name="csp-nonce" content="__CSP_NONCE__">
<script type="module" nonce="__CSP_NONCE__" src="/ui/assets/index-B1c2D3e4.js"></script></head></html>"""


@pytest.fixture
def built(tmp_path: Path, settings: LazySettings) -> Path:
    """A build in the form that `make ui` gives."""
    assets = tmp_path / "files/ui/assets"
    assets.mkdir(parents=True)
    (tmp_path / "index.html").write_text(INDEX)
    (assets / "index-B1c2D3e4.js").write_text("plain text")
    (assets / "index-B1c2D3e4.js.br").write_bytes(b"packed")
    (tmp_path / "files/ui/favicon.svg").write_text("<svg/>")
    settings.VXPU_UI_DIR, settings.WHITENOISE_ROOT = tmp_path, tmp_path / "files"
    return tmp_path


@pytest.fixture
def unbuilt(tmp_path: Path, settings: LazySettings) -> None:
    settings.VXPU_UI_DIR = tmp_path / "nothing"


@pytest.mark.usefixtures("built")
def test_each_answer_has_a_nonce_of_its_own(client: Client) -> None:
    nonces = []
    for _ in range(2):
        answer = client.get("/")
        page, policy = answer.content.decode(), answer["Content-Security-Policy"]
        found = re.findall(r'(?:nonce|content)="([\w-]{20,})"', page)
        assert len(found) == 2
        assert len(set(found)) == 1
        assert policy.count(f"'nonce-{found[0]}'") == 2
        assert answer["Cache-Control"] == "no-store"
        nonces.append(found[0])
    assert nonces[0] != nonces[1]


@pytest.mark.usefixtures("built")
def test_the_policy_is_strict(client: Client, settings: LazySettings) -> None:
    settings.VXPU_PUBLIC_SOCKET_URL = "wss://live.market.example:8443/sockets"
    answer = client.get("/")
    rules = dict(rule.split(" ", 1) for rule in answer["Content-Security-Policy"].split("; "))
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert rules["connect-src"] == "'self' wss://live.market.example:8443"
    nothing = {name for name, sources in rules.items() if sources == "'none'"}
    assert nothing == {"default-src", "frame-ancestors", "base-uri"}
    assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    "address", ["/", "/login", "/reservations/rsv_01k2", "/nodes/nod_1?tab=drain", "/anything/else"]
)
def test_a_deep_link_is_the_console(client: Client, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, "csp-nonce" in answer.content.decode()) == (200, True)
    assert client.post(address).status_code == 405


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    "address", ["/api/v1/nothing", "/api/nothing", "/agent/nothing", "/ui/index.html", "/ui/vite/manifest.json",
                "/ui/assets/gone-B1c2D3e4.js", "/static/nothing.js", "/robots.txt", "/../index.html"],
)  # fmt: skip
def test_what_is_not_there_is_not_the_console(client: Client, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.django_db
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("address", ["/api", "/api/docs", "/api/reference", "/api/errors", "/api/schema", "/healthz"])
def test_what_was_there_before_stays(client: Client, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, "csp-nonce" in answer.content.decode()) == (200, False)


def served(address: str, **headers: str) -> tuple[Any, bytes]:
    """Headers and body by WhiteNoise as production has it: files are found at the start."""
    middleware = WhiteNoiseMiddleware(lambda _: HttpResponse(status=404), settings=Plain(django_settings))
    answer: Any = middleware(RequestFactory().get(address, headers=headers))
    body = b"".join(answer)
    answer.close()
    return answer, body


class Plain:
    """The settings without the tests' own way of finding files."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.WHITENOISE_AUTOREFRESH = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._given, name)


@pytest.mark.usefixtures("built")
def test_files_are_kept_for_ever_and_sent_packed() -> None:
    answer, body = served("/ui/assets/index-B1c2D3e4.js", **{"Accept-Encoding": "gzip, br"})
    assert answer["Cache-Control"] == "max-age=315360000, public, immutable"
    assert (answer["Content-Encoding"], body) == ("br", b"packed")
    assert "Access-Control-Allow-Origin" not in answer
    assert served("/ui/assets/index-B1c2D3e4.js")[1] == b"plain text"
    assert "immutable" not in served("/ui/favicon.svg")[0]["Cache-Control"]
    assert served("/index.html")[0].status_code == 404


def test_a_page_that_names_no_icon_has_one(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer["Location"]) == (302, "/ui/favicon.svg")


@pytest.mark.usefixtures("unbuilt")
def test_without_a_build_one_page_says_so_and_the_api_is_up(client: Client) -> None:
    answer = client.get("/")
    assert (answer.status_code, "make ui" in answer.content.decode()) == (200, True)
    deep = client.get("/offers")
    assert (deep.status_code, "make ui" in deep.content.decode()) == (404, True)
    assert client.get("/api/v1/nothing").json()["code"] == "not_found"
