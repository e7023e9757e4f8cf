"""The built console: small enough at its first page, from nobody else's site, and its placeholder in every place."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from config.console import PLACEHOLDER

UI = Path(__file__).resolve().parents[2] / "config/ui"
FIRST_PAGE_BYTES = 200_000


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    """Vite's own list of what was built from what."""
    file = UI / "vite/manifest.json"
    assert file.exists(), "the console is not built: make ui"
    return dict(json.loads(file.read_text()))


def closure(manifest: dict[str, Any], key: str) -> set[str]:
    """The files that a browser loads for this chunk before anything of it runs."""
    seen, left, files = {key}, [key], set[str]()
    while left:
        chunk = manifest[left.pop()]
        files |= {chunk["file"], *chunk.get("css", [])}
        left += [one for one in chunk.get("imports", []) if one not in seen]
        seen.update(chunk.get("imports", []))
    return files


def packed(files: set[str]) -> int:
    return sum(len(gzip.compress((UI / "files/ui" / name).read_bytes())) for name in files)


def test_each_first_page_is_within_its_budget(manifest: dict[str, Any]) -> None:
    entry = next(key for key, chunk in manifest.items() if chunk.get("isEntry"))
    initial = closure(manifest, entry)
    pages = [key for key in manifest if re.search(r"/(home|login)-page\.tsx$", key)]
    assert len(pages) == 2
    sizes = {key: packed(initial | closure(manifest, key)) for key in (entry, *pages)}
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
