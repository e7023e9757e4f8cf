"""A health check for containers: `python -m config.health URL` or `python -m config.health FILE --within-s N`."""

from __future__ import annotations

import argparse
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path


def answers(url: str) -> bool:
    """Whether an HTTP server says 200 within three seconds."""
    try:
        with urllib.request.urlopen(url, timeout=3) as answer:  # noqa: S310 - the operator's own address
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def is_fresh(file: Path, *, within_s: float) -> bool:
    """Whether a file was written in the last `within_s` seconds."""
    try:
        return time.time() - file.stat().st_mtime < within_s
    except FileNotFoundError:
        return False


def main(argv: Sequence[str] | None = None) -> int:
    """0 when healthy, else 1."""
    parser = argparse.ArgumentParser(prog="python -m config.health")
    parser.add_argument("target")
    parser.add_argument("--within-s", type=float)
    chosen = parser.parse_args(argv)
    within_s = chosen.within_s
    healthy = answers(chosen.target) if within_s is None else is_fresh(Path(chosen.target), within_s=within_s)
    return 0 if healthy else 1


if __name__ == "__main__":
    sys.exit(main())
