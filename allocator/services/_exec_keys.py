"""What Valkey holds of a program that was started through the server. All of it is volatile: it has a time to live.

The order waits behind a ticket (plumbing/live/tickets.py) until the stream is opened.

| key | holds |
|---|---|
| `vxpu:exec:<id>` | hash: lease, argv, created_at, and at the end ended_at, code, platform |
| `vxpu:exec:<id>:stream` | stream of the messages to the client (vxpu/wire/exec.py), each with its number |
| `vxpu:exec:<id>:client`, `:node` | there as long as the process that holds that end beats |
| `vxpu:lease:<id>:running` | sorted set: the execs that run, by when they lapse unless renewed (Unix seconds) |
| `vxpu:lease:<id>:execs` | sorted set: the execs that are kept, by their start |
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from vxpu.wire.node import RemoteExec

End = Literal["client", "node"]

BEAT_S = 5
ALIVE_S = 20


class Ticket(BaseModel):
    """What one ticket opens."""

    model_config = ConfigDict(frozen=True)

    node_id: UUID
    lease_id: UUID
    order: RemoteExec


def record_key(exec_id: str) -> str:
    return f"vxpu:exec:{exec_id}"


def stream_key(exec_id: str) -> str:
    return f"vxpu:exec:{exec_id}:stream"


def alive_key(exec_id: str, end: End) -> str:
    return f"vxpu:exec:{exec_id}:{end}"


def running_key(lease_id: UUID) -> str:
    return f"vxpu:lease:{lease_id}:running"


def kept_key(lease_id: UUID) -> str:
    return f"vxpu:lease:{lease_id}:execs"
