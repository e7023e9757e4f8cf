"""A real browser on the real stack. Each page has a context of its own: no cookie of another test is in it.

Every page notes what the browser complained about (script errors, refused by the Content-Security-Policy, requests that
leave the site); a test that does not expect complaints ends with `assert page_complaints(page) == []`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from config.demo.cast import Tenant
from config.stack import Stack

ROOT = Path(__file__).resolve().parents[3]
# What a headless Chromium needs as root in a container, and what it must not do behind our back.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
OpenPage = Callable[..., Page]
_FAILED = pytest.StashKey[list[bool]]()
_COMPLAINTS: dict[int, list[str]] = {}


def page_complaints(page: Page) -> list[str]:
    """What the browser said of this page so far."""
    return _COMPLAINTS[id(page)]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = os.environ.get("VXPU_CHROMIUM") or subprocess.run(
        [ROOT / "deploy/chromium.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()  # fmt: skip
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def _note(page: Page, site: str) -> None:
    found = _COMPLAINTS[id(page)] = []
    page.on("console", lambda said: found.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    own = (site, site.replace("http", "ws"), "data:", "blob:")
    page.on("request", lambda asked: None if asked.url.startswith(own) else found.append(f"asked {asked.url}"))


def new_page(browser: Browser, site: str, **context: Any) -> Page:
    """A page in a context of its own, which the caller closes; what it complains about is noted."""
    wanted: dict[str, Any] = {"base_url": site, "locale": "en-GB", "timezone_id": "Europe/Berlin"}
    page = browser.new_context(**{**wanted, **context}).new_page()
    page.set_default_timeout(15_000)
    _note(page, site)
    return page


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash.setdefault(_FAILED, []).append(report.failed)
    return report


def _picture(page: Page, name: str) -> None:
    """What the browser showed when a test failed: var/test/browser."""
    folder = ROOT / "var/test/browser"
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png", full_page=True)


@pytest.fixture
def open_page(request: pytest.FixtureRequest, chromium: Browser, stack: Stack) -> Iterator[OpenPage]:
    """``open_page("/offers", viewport=..., color_scheme="dark")``: a page in a new context, nobody logged in."""
    contexts: list[BrowserContext] = []

    def show(address: str = "/", **context: Any) -> Page:
        page = new_page(chromium, stack.urls["web"], **context)
        contexts.append(page.context)
        page.goto(address)
        return page

    yield show
    for number, context in enumerate(contexts):
        if any(request.node.stash.get(_FAILED, [])) and context.pages:
            _picture(context.pages[0], f"{request.node.name}-{number}")
        context.close()


@pytest.fixture
def tenant_page(open_page: OpenPage, tenant: Tenant) -> OpenPage:
    """As `open_page`, with the tenant's admin logged in by token."""

    def show(address: str = "/", *, token: str = tenant.admin.token, **context: Any) -> Page:
        page = open_page("/healthz", **context)
        log_in(page, token=token)
        page.goto(address)
        return page

    return show


def log_in(page: Page, **credential: str) -> None:
    """By REST, so that the page's cookies are those of a log-in; the log-in page has journeys of its own."""
    answer = page.context.request.post("/api/v1/session", data=credential)
    assert answer.status == 201, answer.text()
