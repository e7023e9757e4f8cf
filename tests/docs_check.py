"""`python -m tests.docs_check`: what the pages name exists: files, make targets, settings. Part of `make lint`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
TARGET = re.compile(r"`make ([a-z][a-z-]*)")
SETTING = re.compile(r"`((?:VXPU|DJANGO|DATABASE|REDIS)_[A-Z_]*[A-Z])`")


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")])


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def known_settings() -> str:
    """All text in which a setting may be read: one string to look names up in."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py", "*.yml", "*.c", "*.h", "*.sh"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return "\n".join((ROOT / name).read_text() for name in listed.stdout.split() if (ROOT / name).exists())


def faults_of(page: Path, targets: set[str], code: str) -> Iterator[str]:
    text = page.read_text()
    for link in LINK.findall(text):
        if "://" not in link and not link.startswith("mailto:") and not (page.parent / link).exists():
            yield f"no file {link}"
    yield from (f"no make target {name}" for name in TARGET.findall(text) if name not in targets)
    yield from (f"nothing reads {name}" for name in SETTING.findall(text) if name not in code)


def main() -> int:
    targets, code = make_targets(), known_settings()
    faults = []
    for page in pages():
        faults += [f"{page.relative_to(ROOT)}: {fault}" for fault in sorted(set(faults_of(page, targets, code)))]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
