"""What the demo says while it runs: a heading a step, a line an event, a check a promise."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape

_DOTS = {None: "[cyan]·[/]", True: "[green]✓[/]", False: "[red]✗[/]"}
_PLAIN = {None: " ", True: "ok", False: "NO"}


PIPE_WIDTH = 160


def _console() -> Console:
    """A terminal's own width; in a pipe, where there is none, wide enough for every table."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=PIPE_WIDTH)


@dataclass
class Check:
    """One promise with what was seen."""

    promise: str
    kept: bool
    seen: str


@dataclass
class Screen:
    """On a terminal with colours; in a pipe plain lines with the seconds since the start."""

    console: Console = field(default_factory=_console)
    checks: list[Check] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def step(self, title: str) -> None:
        self._line(f"[bold]{escape(title)}[/]" if self.console.is_terminal else f"== {title}", None, indent=False)

    def say(self, line: str) -> None:
        self._line(line, None)

    def check(self, promise: str, kept: bool, seen: object = "") -> bool:
        """A promise of the product, kept or not; the exit code of the demo is the sum of these."""
        self.checks.append(Check(promise, bool(kept), str(seen)))
        self._line(f"{promise}: {seen}" if str(seen) else promise, bool(kept))
        return bool(kept)

    @property
    def broken(self) -> list[Check]:
        return [check for check in self.checks if not check.kept]

    def _line(self, text: str, mark: bool | None, *, indent: bool = True) -> None:
        clock = f"{time.monotonic() - self.began:5.1f}"
        if not self.console.is_terminal:
            print(f"[{clock} s] {_PLAIN[mark] + ' ' if indent else ''}{text}", flush=True)
        elif indent:
            self.console.print(f"[dim]{clock}[/] {_DOTS[mark]} {escape(text)}")
        else:
            self.console.print(f"\n[dim]{clock}[/] {text}")
