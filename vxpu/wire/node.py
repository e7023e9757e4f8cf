"""Enrolment, and the frames of the one WebSocket that an agent keeps open.

The agent dials ``/agent/v1/socket`` with ``Authorization: Bearer <node token>`` and sends `Hello`, then a `Sync` every
heartbeat and at every change; the server answers each `Sync` with a `Desired`, and sends `Poke` when the desired state
changed. Exec, logs and live samples travel as frames of the same connection.

Node token: a JWT (RFC 7519) signed by the node's own Ed25519 key (RFC 8037), ``iss`` the node id, ``aud``
"vxpu-server", ``exp`` at most 120 s ahead, ``jti`` unique.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, SerializerFunctionWrapHandler, model_serializer

from vxpu.slices import Slice
from vxpu.states import DeviceKind, Isolation, LeaseState, Quality
from vxpu.wire.base import Lenient, Strict

NODE_TOKEN_AUDIENCE = "vxpu-server"  # noqa: S105 - an audience
LEASE_TOKEN_AUDIENCE = "vxpu-agent"  # noqa: S105 - an audience
SOCKET_PATH = "/agent/v1/socket"
ENROL_PATH = "/agent/v1/enrol"
ROTATE_PATH = "/agent/v1/rotate"
USAGE_PATH = "/agent/v1/usage"
WINDOW_FRAMES = 4
OUTPUT_BYTES = 64 * 1024
EVERY_LEASE = "*"
# An exbibyte, and what a column of counts holds: a machine that says more is mistaken.
MOST_MIB, MOST_UNITS = 2**40, 2**31 - 1
OUTPUT_BASE64 = (OUTPUT_BYTES + 2) // 3 * 4


def _without_absent(written: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in written.items() if name not in names or value is not None}


class Enrol(Strict):
    """POST body at ENROL_PATH. The key pair is made on the node; only the public half travels."""

    one_time_token: str
    public_key: str = Field(description="base64 of the raw 32-byte Ed25519 public key")
    hostname: str = Field(max_length=253)
    machine_id: str = Field(max_length=64)
    agent_version: str = Field(max_length=64)
    rack: str = Field(default="", max_length=64, description="where the machine stands; an operator may say otherwise")


class Enrolled(Lenient):
    node_id: str
    server_public_key: str = Field(description="base64; verifies lease tokens")
    socket_url: str = Field(description="ws:// or wss:// address of the socket")


class Rotate(Strict):
    """POST body at ROTATE_PATH, authorised by a token of the old key."""

    public_key: str


class Reading(Strict):
    """A value with its age and quality; value None is "n/a", never zero."""

    value: int | None
    at: AwareDatetime | None
    quality: Quality


class CardLink(Strict):
    """How a card reaches another of its node. `nvlinks` are active connections between the two; None: not readable."""

    peer: str = Field(max_length=64, description="UUID of the other card")
    nvlinks: int | None = Field(ge=0, le=64)
    pcie: Literal["board", "switch", "switches", "host_bridge", "numa_node", "system"] | None


class MigState(Strict):
    """Whether the card is cut by its own hardware; `pending` is what holds after the next reset of the card."""

    enabled: bool
    pending: bool


class CardReport(Strict):
    """What only an NVIDIA card has. Empty text and None are "not readable"; `mig` None: the card cannot be cut."""

    uuid: str = Field(max_length=64)
    pci_bus_id: str = Field(default="", max_length=32)
    driver_version: str = Field(default="", max_length=80)
    cuda_version: str = Field(default="", max_length=16)
    links: list[CardLink] = Field(default_factory=list, max_length=64)
    mig: MigState | None = None


class DeviceReport(Strict):
    """One physical device, whatever number of drivers show it. `key` is stable over restarts and driver updates."""

    key: str = Field(max_length=128)
    kind: DeviceKind
    model: str = Field(max_length=128)
    vendor: str = Field(max_length=128)
    simulated: bool
    compute_units: int = Field(ge=1, le=MOST_UNITS)
    memory_mib: int = Field(ge=1, le=MOST_MIB, description="physical")
    capacity_mib: int = Field(ge=1, le=MOST_MIB, description="sellable: physical less the host reserve")
    capacity_permille: int = Field(ge=1, le=1000)
    isolation: Isolation = Field(description="the strongest mode that this node can enforce here")
    isolation_detail: str = Field(default="", max_length=400)
    readings: dict[str, Reading] = Field(default_factory=dict)
    card: CardReport | None = None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A server of before `card` refuses a field that it does not know, and most devices have none."""
        return _without_absent(write(self), "card")


class HookDone(Strict):
    """What came of a `Hook`: `none` is "this slice has no hook", `timeout` that it was ended at the deadline."""

    id: str = Field(max_length=64)
    result: Literal["ok", "failed", "timeout", "none"]
    detail: str = Field(default="", max_length=400)


class LeaseReport(Strict):
    lease_id: str
    token: int
    version: int = Field(description="the desired version that was applied; 0 if none")
    state: LeaseState
    isolation: Isolation | None = None
    reason: str = Field(default="", max_length=400)
    events: list[str] = Field(default_factory=list, max_length=32, description="audit findings since the last sync")
    hook: HookDone | None = None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only whoever was asked for a hook answers, so a server of before `hook` never gets one."""
        return _without_absent(write(self), "hook")


class Hello(Strict):
    type: Literal["hello"] = "hello"
    wire_version: int
    agent_version: str
    boot_id: str


class HostReport(Strict):
    """What the machine has beside its devices, and how much of that may be sold with slices of them."""

    cores_milli: int = Field(ge=0, le=MOST_UNITS, description="thousandths of a processor core, all of them")
    memory_mib: int = Field(ge=0, le=MOST_MIB, description="main memory, physical")
    sellable_cores_milli: int = Field(ge=0, le=MOST_UNITS)
    sellable_memory_mib: int = Field(ge=0, le=MOST_MIB)


class Sync(Strict):
    """`host` only goes to a server that has said that it `takes_host`: one of before refuses what it does not know."""

    type: Literal["sync"] = "sync"
    seq: int
    sent_at: AwareDatetime
    devices: list[DeviceReport]
    leases: list[LeaseReport]
    host: HostReport | None = None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without_absent(write(self), "host")


class Hook(Lenient):
    """The slice is to lose its place: let its programs save what they have, until `deadline`; then answer `HookDone`.

    `reason` is move, preempt or maintenance. Told again with the same `id` it is not run again by the same agent.
    """

    id: str
    reason: str
    deadline: AwareDatetime


class Slots(Lenient):
    """Memory slots of a card that its own hardware cuts: `first` and all before `end`, as its driver counts them."""

    first: int = Field(ge=0)
    end: int = Field(gt=0)


class DesiredLease(Lenient):
    """What a node should make true. `token` is the fencing token: a lower one than seen before is void.

    `slots` is the place that is booked on a cut card; a node makes the instance there or not at all, for the places
    beside it are booked for others.
    """

    lease_id: str
    token: int
    version: int
    wanted: Literal["ready", "suspended", "gone"]
    device_key: str
    slice: Slice
    starts_at: AwareDatetime
    ends_at: AwareDatetime | None
    hook: Hook | None = None
    slots: Slots | None = None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without_absent(write(self), "hook", "slots")


class Desired(Lenient):
    """The whole desired state of a node; a lease that is absent is to be gone."""

    type: Literal["desired"] = "desired"
    answers_seq: int
    sent_at: AwareDatetime
    heartbeat_s: int
    authority_s: int
    window_s: int
    grace_s: int
    leases: list[DesiredLease]
    takes_host: bool | None = None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without_absent(write(self), "takes_host")


class Poke(Lenient):
    type: Literal["poke"] = "poke"


class Refused(Lenient):
    """The server could not take the last frame; the connection stays."""

    type: Literal["refused"] = "refused"
    code: str
    detail: str


class RemoteExec(Lenient):
    """Start a program in a slice, without a terminal and with an empty stdin.

    The agent answers `RemoteStarted`, `RemoteOutput`s and one `RemoteExit`, or at once a `RemoteExit` that says why
    not. At most `WINDOW_FRAMES` outputs of a program are under way: `RemoteTaken` makes room, and until then the
    program waits at its pipe, as it would for a slow reader on its own machine.
    """

    type: Literal["exec"] = "exec"
    exec_id: str
    lease_token: str
    argv: list[str]
    env: dict[str, str] = Field(default_factory=dict)


class RemoteSignal(Lenient):
    """For the program's process group."""

    type: Literal["signal"] = "signal"
    exec_id: str
    signal: int = Field(ge=1, le=31)


class RemoteTaken(Lenient):
    """So many more outputs have reached the reader."""

    type: Literal["taken"] = "taken"
    exec_id: str
    frames: int = Field(ge=1)


class RemoteHangup(Lenient):
    """Nobody waits any more: SIGTERM, then SIGKILL after the grace. The exit is still told."""

    type: Literal["hangup"] = "hangup"
    exec_id: str


class RemoteStarted(Strict):
    type: Literal["started"] = "started"
    exec_id: str
    lease_id: str
    isolation: str = Field(max_length=64)


class RemoteOutput(Strict):
    type: Literal["output"] = "output"
    exec_id: str
    stream: Literal["stdout", "stderr"]
    data: str = Field(description="base64, at most 64 KiB of bytes", max_length=OUTPUT_BASE64)


class RemoteExit(Strict):
    """`code` as a shell would give it. `detail` names a platform end; before a start it is the reason of a refusal."""

    type: Literal["exit"] = "exit"
    exec_id: str
    code: int
    detail: str = Field(default="", max_length=400)


class Watch(Lenient):
    """Somebody looks at these leases (`EVERY_LEASE`: at the whole node): send `Samples` until then.

    Renewed while they look; without a renewal the node stops by itself. One that does not know this frame ignores it.
    """

    type: Literal["watch"] = "watch"
    lease_ids: list[str] = Field(max_length=256)
    interval_ms: int = Field(default=500, ge=100, le=60_000)
    until: AwareDatetime


class LeaseSample(Strict):
    """A slice now, read outside the guest; use is of the whole device, over the time since the sample before.

    Throttled is how much of that time the kernel held the slice's threads back at its share (1000: all the time).
    """

    lease_id: str = Field(max_length=64)
    at: AwareDatetime
    memory_mib: Reading
    memory_limit_mib: int = Field(ge=0)
    compute_permille: Reading
    compute_limit_permille: int = Field(ge=0, le=1000)
    throttled_permille: Reading
    power_mw: Reading
    processes: int | None = Field(ge=0)


class DeviceSample(Strict):
    """A device now: `compute_permille` is all that runs on it, `unattributed_permille` what is no slice's."""

    device_key: str = Field(max_length=128)
    at: AwareDatetime
    compute_permille: Reading
    unattributed_permille: Reading


class Samples(Strict):
    type: Literal["samples"] = "samples"
    leases: list[LeaseSample] = Field(max_length=256)
    devices: list[DeviceSample] = Field(default_factory=list, max_length=64)


FromAgent = Annotated[
    Hello | Sync | Samples | RemoteStarted | RemoteOutput | RemoteExit,
    Field(discriminator="type"),
]
ToProgram = Annotated[RemoteExec | RemoteSignal | RemoteTaken | RemoteHangup, Field(discriminator="type")]
Order = Annotated[RemoteExec | RemoteSignal | RemoteTaken | RemoteHangup | Watch, Field(discriminator="type")]
FromServer = Annotated[
    Desired | Poke | Watch | Refused | RemoteExec | RemoteSignal | RemoteTaken | RemoteHangup,
    Field(discriminator="type"),
]
