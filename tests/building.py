"""Builds the native part where it is not built yet; workers that want the same at once wait for each other."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[1] / "native"


def build(*targets: str) -> None:
    """Targets of native/Makefile. Raises subprocess.CalledProcessError."""
    (NATIVE / "build").mkdir(exist_ok=True)
    with (NATIVE / "build/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "-C", str(NATIVE), *targets], check=True, timeout=300)
