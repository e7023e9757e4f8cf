"""What a running stack leaves on disk for others to read: `var/run/stack.json` (no secret in it) and the logs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

import psutil


def _is_keeper(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return str(Path(__file__).with_name("guard.py")) in process.cmdline()
    return False


def find_keeper(pid: int) -> psutil.Process | None:
    with contextlib.suppress(psutil.NoSuchProcess):
        found = psutil.Process(pid)
        return found if _is_keeper(found) else None
    return None


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for an error message."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else f"{log} is missing"


def read_state(var: Path) -> dict[str, dict[str, str]]:
    """What `var/run/stack.json` says; empty when no stack left one."""
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        return dict(json.loads((var.resolve() / "run/stack.json").read_text()))
    return {}


def write_state(var: Path, facts: Mapping[str, object]) -> None:
    """Replace `var/run/stack.json` in one step: addresses and process ids."""
    draft = var / "run/stack.json.new"
    draft.write_text(json.dumps(facts, indent=1))
    draft.rename(var / "run/stack.json")
