"""The built console: small enough at its first page, from nobody else's site, and its placeholder in every place."""

from __future__ import annotations

import re
from typing import Any

import pytest

from config.console import PLACEHOLDER
from tests.deploy.console_build import UI, closure, entry_of, packed, read_manifest

FIRST_PAGE_BYTES = 200_000


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return read_manifest()


def test_each_first_page_is_within_its_budget_in_each_language(manifest: dict[str, Any]) -> None:
    pages = [key for key in manifest if re.search(r"/(home|login)-page\.tsx$", key)]
    words = [key for key in manifest if re.search(r"/i18n/\w+/catalog\.ts$", key)]
    assert (len(pages), len(words)) == (2, 2)
    initial = closure(manifest, entry_of(manifest))
    sizes = {
        (page, language): packed(initial | closure(manifest, page) | closure(manifest, language))
        for page in pages
        for language in words
    }
    assert {key: size for key, size in sizes.items() if size > FIRST_PAGE_BYTES} == {}


def test_every_script_and_style_of_the_page_takes_the_nonce() -> None:
    page = (UI / "index.html").read_text()
    tags = re.findall(r"<(?:script|style|link rel=\"stylesheet\")[^>]*>", page)
    assert tags
    assert [tag for tag in tags if f'nonce="{PLACEHOLDER}"' not in tag] == []
    assert f'<meta name="csp-nonce" content="{PLACEHOLDER}"' in page


def test_the_page_asks_no_other_site() -> None:
    texts = {file.name: file.read_text() for file in UI.rglob("*") if file.suffix in {".html", ".css"}}
    foreign = {
        name: re.findall(r"(?:src|href|url\(|@import)[=\s\"'(]*(?:https?:)?//[^\s\"')]+", text)
        for name, text in texts.items()
    }
    assert {name: found for name, found in foreign.items() if found} == {}


def test_files_are_named_by_their_content(manifest: dict[str, Any]) -> None:
    named = re.compile(r"^assets/.+-[A-Za-z0-9_-]{8}\.\w+$")
    assert [chunk["file"] for chunk in manifest.values() if not named.match(chunk["file"])] == []
