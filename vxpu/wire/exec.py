"""The exec protocol between `vxpu run` and the agent on one node, over a UNIX stream socket.

Each message is one line of JSON. The client sends `ExecRequest` with three descriptors (stdin, stdout, stderr) as
SCM_RIGHTS ancillary data; the agent answers `ExecStarted` or `ExecRefused`, then one `ExecEnded`. Meanwhile the client
may send `ExecSignal`. The agent takes the caller's uid from SO_PEERCRED and checks the lease token.

Lease token: a JWT signed by the server (EdDSA), ``aud`` "vxpu-agent", ``sub`` the lease id, ``fence`` the fencing
token, ``exp`` minutes ahead; the agent verifies it with the key that it got at enrolment.

`vxpu exec` speaks the same messages with the server, each as one text frame of a WebSocket at STREAM_PATH: the ticket
of ``POST /api/v1/leases/{id}/execs`` is the bearer token and stands for the request. The program's output comes as
`ExecOutput`, and the client answers each with `ExecTaken` when it has passed it on; so a slow reader slows the program
down and nothing piles up on the way. Closing the socket ends the program.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vxpu.wire.base import Lenient, Strict

SOCKET_PATH = "/run/vxpu/agent.sock"
STREAM_PATH = "/api/v1/exec-stream"


class ExecRequest(Strict):
    type: Literal["run"] = "run"
    lease_token: str = Field(max_length=4096)
    argv: list[str] = Field(min_length=1, max_length=4096)
    env: dict[str, str] = Field(default_factory=dict, max_length=512)
    cwd: str = ""


class ExecSignal(Strict):
    type: Literal["signal"] = "signal"
    signal: int = Field(ge=1, le=31)


class ExecStarted(Lenient):
    type: Literal["started"] = "started"
    lease_id: str
    isolation: str


class ExecRefused(Lenient):
    type: Literal["refused"] = "refused"
    code: str
    detail: str


class ExecEnded(Lenient):
    """`code` as a shell would give it (128 + n for a signal); `platform` names a platform end (expired...)."""

    type: Literal["ended"] = "ended"
    code: int
    platform: str = ""


class ExecOutput(Lenient):
    type: Literal["output"] = "output"
    stream: Literal["stdout", "stderr"]
    data: str = Field(description="base64, at most 64 KiB of bytes")


class ExecTruncated(Lenient):
    """Output is missing here: more came than may wait for a reader."""

    type: Literal["truncated"] = "truncated"


class ExecTaken(Strict):
    type: Literal["taken"] = "taken"
    frames: int = Field(ge=1, le=1000)


FromClient = Annotated[ExecRequest | ExecSignal, Field(discriminator="type")]
FromAgent = Annotated[ExecStarted | ExecRefused | ExecEnded, Field(discriminator="type")]
ToStream = Annotated[ExecSignal | ExecTaken, Field(discriminator="type")]
FromStream = Annotated[ExecStarted | ExecRefused | ExecOutput | ExecTruncated | ExecEnded, Field(discriminator="type")]
