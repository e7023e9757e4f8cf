"""What goes wrong on this side of the wire, each with its exit code; problems of the server keep their document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli.exits import ExitCode, for_problem
from vxpu.units import format_memory, format_share


class CliError(Exception):
    """A failure with a sentence for people, a way on, and an exit code."""

    exit_code: int = ExitCode.UNEXPECTED

    def __init__(self, message: str, *, suggestion: str = "", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.suggestion = suggestion
        if exit_code is not None:
            self.exit_code = exit_code

    def lines(self) -> Iterator[str]:
        """What is said on stderr, one line each."""
        yield f"vxpu: {self}"
        if self.suggestion:
            yield f"  try: {self.suggestion}"


class UsageError(CliError):
    exit_code = ExitCode.USAGE


class NotLoggedIn(CliError):
    exit_code = ExitCode.NOT_AUTHENTICATED


class WaitTimedOut(CliError):
    exit_code = ExitCode.WAIT_TIMED_OUT


class NodeLost(CliError):
    exit_code = ExitCode.NODE_LOST


class ServerUnavailable(CliError):
    exit_code = ExitCode.UNAVAILABLE


class Problem(CliError):
    """An RFC 9457 problem document (`application/problem+json`) that the server answered."""

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.document = dict(document)
        self.code = str(document.get("code", ""))
        self.title = str(document.get("title", "") or f"HTTP {status}")
        self.detail = str(document.get("detail", ""))
        super().__init__(
            self.title, suggestion=str(document.get("suggestion", "") or ""), exit_code=for_problem(status, self.code)
        )

    def lines(self) -> Iterator[str]:
        yield f"vxpu: {self.title}" + (f" ({self.code})" if self.code else "")
        if self.detail and self.detail != self.title:
            yield f"  {self.detail}"
        yield from self._field_errors()
        yield from self._reasons()
        if self.suggestion:
            yield f"  try: {self.suggestion}"
        if self.document.get("request_id"):
            yield f"  request: {self.document['request_id']}"

    def _field_errors(self) -> Iterator[str]:
        for item in self.document.get("errors") or []:
            field = item.get("pointer") or "the body"
            yield f"  {field}: {item.get('detail') or item.get('message') or item.get('code') or ''}"

    def _reasons(self) -> Iterator[str]:
        """Why nothing fits, when it would, and what would fit now."""
        constraints = self.document.get("constraints") or {}
        for name, count in sorted(constraints.items()):
            yield f"  failed: {name} on {count} device{'' if count == 1 else 's'}"
        if self.document.get("next_free_at"):
            yield f"  free again at: {self.document['next_free_at']}"
        for size in self.document.get("nearest") or []:
            yield f"  fits now: {describe_slice(size)}"
        for option in self.document.get("alternatives") or []:
            yield f"  alternative: {describe_alternative(option)}"


def describe_slice(piece: Mapping[str, Any]) -> str:
    """``{"memory_mib": 1024, "share_permille": 250}`` -> ``"1 GiB + 25 %"``."""
    return f"{format_memory(int(piece['memory_mib']))} + {format_share(int(piece['share_permille']))}"


def describe_alternative(option: Mapping[str, Any]) -> str:
    """One line for an alternative of any shape: its slice and times first, then whatever else it says."""
    rest = dict(option)
    words = []
    piece = rest.pop("slice", rest if {"memory_mib", "share_permille"} <= rest.keys() else None)
    if piece is not None:
        words.append(describe_slice(piece))
    for name, value in rest.items():
        if value is not None and name not in {"memory_mib", "share_permille"}:
            words.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(words)
