"""Simulated cards for a stack without real ones: VXPU_FAKE_CARDS=2 makes two, in its data folder.

They are files that the simulated driver of native/fake plays a card with; everything that shows one says so.
"""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path

from config.programs import ROOT

FAKE = ROOT / "native" / "build" / "fake"
MOST = 16
CONTEXT_MIB = 300
CUT_S = 30


class NoCards(OSError):
    """The cards cannot be made; the text says why."""


def wanted(env: Mapping[str, str]) -> int:
    """How many simulated cards VXPU_FAKE_CARDS asks for. Raises NoCards for what is no such number."""
    text = env.get("VXPU_FAKE_CARDS", "") or "0"
    if not text.isdecimal() or int(text) > MOST:
        raise NoCards(f"VXPU_FAKE_CARDS={text} is not a number within 0..{MOST}")
    return int(text)


def make_cards(folder: Path, count: int) -> None:
    """Exactly so many cards in `folder`. Those of an earlier start stay, for their UUIDs were sold, if they still fit.

    Raises NoCards.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if len(_list(folder)) == count:
        return
    for left in folder.glob("vxpu-fake*"):
        left.unlink()
    if count:  # the seed names the cards: two stacks of one machine have different ones
        seed = zlib.crc32(bytes(folder.resolve()))
        _order("create", "--dir", str(folder), "--cards", str(count), "--seed", str(seed))


def agent_environment(folder: Path) -> dict[str, str]:
    """What makes an agent find the simulated driver, and the cards."""
    return {"LD_LIBRARY_PATH": str(FAKE), "VXPU_FAKE_DIR": str(folder)}


def agent_options() -> list[str]:
    """A context takes less of a simulated card than of a real one."""
    return ["--card", f"context-mib={CONTEXT_MIB}"]


def _list(folder: Path) -> list[object]:
    """Empty too for files of another version, which nobody can use."""
    try:
        found: list[object] = json.loads(_order("list", "--dir", str(folder)))
    except (NoCards, ValueError):
        return []
    return found


def _order(*words: str) -> str:
    program = FAKE / "vxpu-fake-card"
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=CUT_S, check=True)
    except FileNotFoundError as error:
        raise NoCards(f"{program} is not built (make native)") from error
    except subprocess.SubprocessError as error:
        raise NoCards(f"{' '.join(words)}: {getattr(error, 'stderr', '') or error}") from error
    return done.stdout
