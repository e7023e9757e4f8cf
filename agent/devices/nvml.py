"""NVML kept open: what a card does not support reads as None, and a driver that went away is opened again.

Only files of this folder that begin with "nv", and mig.py, know the library; the rest of the agent sees plain values.
Error codes are those of NVML's header: which of them mean "not on this card" and which "not there any more".
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import pynvml

T = TypeVar("T")

REOPEN_S = 5.0
LONGEST_REOPEN_S = 60.0
LOST = frozenset({
    pynvml.NVML_ERROR_UNINITIALIZED, pynvml.NVML_ERROR_DRIVER_NOT_LOADED, pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
    pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED, pynvml.NVML_ERROR_GPU_NOT_FOUND,
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
})  # fmt: skip
_WORDS = {
    pynvml.NVML_ERROR_IN_USE: "processes are running on it",
    pynvml.NVML_ERROR_NO_PERMISSION: "the driver allows it to root only",
    pynvml.NVML_ERROR_NOT_SUPPORTED: "the card or the driver cannot do it",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "this driver is too old for it",
    pynvml.NVML_ERROR_INSUFFICIENT_RESOURCES: "no room of that shape is left on the card",
    pynvml.NVML_ERROR_RESET_REQUIRED: "the card waits for a reset, which is not ours to do",
}


class CardGone(RuntimeError):
    """The driver or this card cannot be reached now; it is tried again by itself."""


class Refused(RuntimeError):
    """The driver said no; the text is for people."""


class Nvml:
    """One per process. Calls may come from any thread; `generation` counts how often the library was opened."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self.generation = 0
        self.trouble = ""
        self._now_s = now_s
        self._lock = threading.RLock()
        self._is_open = False
        self._opened_s = float("-inf")
        self._wait_s = REOPEN_S
        self._handles: dict[str, Any] = {}
        self._open()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def ask(self, uuid: str, read: Callable[[Any], T]) -> T | None:
        """What `read` finds at the card's handle; None: this card does not support it. Raises CardGone."""
        return self._kept_open(lambda: read(self._handle(uuid)))

    def ask_system(self, read: Callable[[], T]) -> T | None:
        """As `ask`, of the driver itself."""
        return self._kept_open(read)

    def order(self, uuid: str, what: str, call: Callable[[Any], T]) -> T:
        """Change something on a card. Raises Refused with the reason in words, CardGone."""
        with self._lock:
            try:
                return call(self._handle(uuid))
            except pynvml.NVMLLibraryMismatchError as error:
                raise Refused(f"{what}: this driver is too old for it") from error
            except pynvml.NVMLError as error:
                if error.value in LOST - {pynvml.NVML_ERROR_RESET_REQUIRED}:
                    raise CardGone(f"{what}: {error}") from error
                raise Refused(f"{what}: {_WORDS.get(error.value, str(error))}") from error

    def _kept_open(self, read: Callable[[], T]) -> T | None:
        with self._lock:
            if not self._is_open and not self._open():
                raise CardGone(self.trouble)
            try:
                return read()
            except pynvml.NVMLLibraryMismatchError:
                return None
            except pynvml.NVMLError as error:
                if error.value not in LOST:
                    return None
                self.trouble = str(error)
            return self._read_again(read)

    def _read_again(self, read: Callable[[], T]) -> T | None:
        if not self._open():
            raise CardGone(self.trouble)
        try:
            found = read()
        except pynvml.NVMLError as error:
            if error.value not in LOST:
                return None
            self._wait_s = min(LONGEST_REOPEN_S, 2 * self._wait_s)
            self.trouble = str(error)
            raise CardGone(self.trouble) from error
        self._wait_s = REOPEN_S
        return found

    def _open(self) -> bool:
        """(Re)open the library, ever more seldom while it does not help: it costs the healthy cards' handles too."""
        if self._now_s() - self._opened_s < self._wait_s:
            return False
        self._opened_s = self._now_s()
        if self.generation:
            with contextlib.suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()
        self._handles.clear()
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            self._is_open, self.trouble = False, str(error)
            self._wait_s = min(LONGEST_REOPEN_S, 2 * self._wait_s)
            return False
        self._is_open, self.trouble = True, ""
        self.generation += 1
        return True

    def _handle(self, uuid: str) -> Any:
        if not self._is_open:
            raise CardGone(self.trouble)
        if uuid not in self._handles:
            try:
                self._handles[uuid] = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            except pynvml.NVMLError as error:
                if error.value in LOST:
                    raise
                raise CardGone(f"{uuid} is not there: {error}") from error  # hot-removed
        return self._handles[uuid]


def text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
