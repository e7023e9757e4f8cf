"""Exit codes: stable, so that a script may branch on them.

`vxpu run` passes its program's own code through; what the platform says there is `RUN_BASE` + code, so that 3 from a
program is never taken for "no capacity".
"""

from __future__ import annotations

from enum import IntEnum

RUN_BASE = 64


class ExitCode(IntEnum):
    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    NO_CAPACITY = 3
    QUOTA = 4
    NOT_AUTHENTICATED = 5
    FORBIDDEN = 6
    NOT_FOUND = 7
    CONFLICT = 8
    WAIT_TIMED_OUT = 9
    PREEMPTED = 10
    EXPIRED = 11
    NODE_LOST = 12
    RATE_LIMITED = 13
    UNAVAILABLE = 14
    INTERRUPTED = 130


_BY_CODE = {
    "no_capacity": ExitCode.NO_CAPACITY,
    "quota_exceeded": ExitCode.QUOTA,
    "budget_exceeded": ExitCode.QUOTA,
    "preempted": ExitCode.PREEMPTED,
    "expired": ExitCode.EXPIRED,
    "lease_expired": ExitCode.EXPIRED,
    "node_lost": ExitCode.NODE_LOST,
}
_BY_STATUS = {
    400: ExitCode.USAGE,
    401: ExitCode.NOT_AUTHENTICATED,
    402: ExitCode.QUOTA,
    403: ExitCode.FORBIDDEN,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    412: ExitCode.CONFLICT,
    422: ExitCode.USAGE,
    429: ExitCode.RATE_LIMITED,
}

# What the agent names as the cause when the platform, not the program, ended a run.
_BY_PLATFORM_END = {
    "preempted": ExitCode.PREEMPTED,
    "expired": ExitCode.EXPIRED,
    "released": ExitCode.EXPIRED,
    "node_lost": ExitCode.NODE_LOST,
    "unreachable": ExitCode.NODE_LOST,
    "superseded": ExitCode.NODE_LOST,
    "unavailable": ExitCode.UNAVAILABLE,
}


def for_problem(status: int, code: str) -> ExitCode:
    """The exit code for a problem document: the stable `code` wins over the HTTP status."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status >= 500:
        return ExitCode.UNAVAILABLE
    return _BY_STATUS.get(status, ExitCode.UNEXPECTED)


def for_platform_end(name: str) -> int:
    """64 + n for a run that the platform ended; an unknown name is 64 + 1."""
    return RUN_BASE + _BY_PLATFORM_END.get(name, ExitCode.UNEXPECTED)
