"""Simulated cards for tests of the agent: a folder of them, and processes that see them through the fake driver.

A driver's library lives as long as its process and reads its cards' folder once, so whatever loads it runs in a forked
child (`Cards.run`); what it returns comes back, what it raises fails the test.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import subprocess
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.building import NATIVE, build

T = TypeVar("T")

FAKE = NATIVE / "build" / "fake"


def build_fake(*targets: str) -> None:
    """The fake driver, and `targets` of native/Makefile beside it."""
    build("fake", *targets)


@dataclass(frozen=True)
class Cards:
    """Cards in `folder`; `set` turns their knobs while somebody looks."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, count: int = 2, **over: int) -> Cards:
        folder.mkdir()
        options = [f"--{name.replace('_', '-')}={value}" for name, value in over.items()]
        _card("create", "--dir", folder, "--cards", count, *options)
        return cls(folder)

    def set(self, card: int = 0, **knobs: int) -> None:
        _card("set", "--dir", self.folder, "--card", card, *(f"{name}={value}" for name, value in knobs.items()))

    def list(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(_card("list", "--dir", self.folder))
        return found

    def environment(self) -> dict[str, str]:
        return {"VXPU_FAKE_DIR": str(self.folder), "LD_LIBRARY_PATH": str(FAKE)}

    def run(self, story: Callable[[], T]) -> T:
        """`story` in a process of its own that has this driver."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            self._be_child(story, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as answers:
            answer = answers.read()
        _, status = os.waitpid(child, 0)
        assert answer, f"the process with the fake driver died: {os.waitstatus_to_exitcode(status)}"
        worked, value = pickle.loads(answer)  # noqa: S301 - our own child
        assert worked, value
        result: T = value
        return result

    def _be_child(self, story: Callable[[], Any], writer: int) -> None:
        try:
            os.environ.update(self.environment())
            os.environ["PATH"] = f"{FAKE}:{os.environ['PATH']}"
            ctypes.CDLL(str(FAKE / "libnvidia-ml.so.1"))  # a later look-up by that name finds this one
            answer = pickle.dumps((True, story()))
        except BaseException:  # noqa: BLE001 - it all goes to the parent
            answer = pickle.dumps((False, traceback.format_exc()))
        with os.fdopen(writer, "wb") as told:
            told.write(answer)
        os._exit(0)


def _card(*words: object) -> str:
    done = subprocess.run([str(FAKE / "vxpu-fake-card"), *(str(word) for word in words)], capture_output=True,
                          text=True, check=False, timeout=30)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
