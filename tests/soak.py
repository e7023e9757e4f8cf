"""The long form of the proofs: how long, and where the figures go. `make soak`; SOAK_SCALE=0.1 to try it out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SayFigures = Callable[..., None]
SCALE = float(os.environ.get("SOAK_SCALE", "1"))
FIGURES = Path(__file__).resolve().parents[1] / "var/test/soak.jsonl"


def scaled(full: int, *, least: int = 1) -> int:
    """So many rounds, steps or seconds at this run's scale."""
    return max(least, round(full * SCALE))


def keep_figures(name: str, figures: dict[str, Any]) -> str:
    """Append one JSON object to the file of all runs; returns the same for people, in one line."""
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    row = {"soak": name, "at": round(time.time()), "scale": SCALE, **figures}
    with FIGURES.open("a") as file:
        file.write(json.dumps(row) + "\n")
    return f"soak {name}: " + ", ".join(f"{key} {value}" for key, value in figures.items())
