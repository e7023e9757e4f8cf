"""The built console, as Vite's own list says that it was built."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

UI = Path(__file__).resolve().parents[2] / "config/ui"


def read_manifest() -> dict[str, Any]:
    """Which chunk was built from which module, and what it needs."""
    file = UI / "vite/manifest.json"
    assert file.exists(), "the console is not built: make ui"
    return dict(json.loads(file.read_text()))


def entry_of(manifest: dict[str, Any]) -> str:
    return next(key for key, chunk in manifest.items() if chunk.get("isEntry"))


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
    """Bytes as sent, by gzip."""
    return sum(len(gzip.compress((UI / "files/ui" / name).read_bytes())) for name in files)
