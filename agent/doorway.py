"""The UNIX socket of `vxpu run` (vxpu/wire/exec.py): checks who asks and for which slice, then hands over to a shim.

The daemon reads one request a connection and lets go of it: the program, its descriptors and its client belong to a
process of their own from then on, so a restart of the agent is not noticed by those who compute.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from pydantic import ValidationError

from agent.config import Config
from agent.credential import BadLeaseToken, Credential
from agent.enforce import linux
from agent.enforce.launcher import LaunchFailed
from agent.enforce.place import HOME
from agent.enforce.port import Enforcer
from agent.state import SliceRecord, State
from vxpu.states import LeaseState
from vxpu.wire.exec import ExecRefused, ExecRequest

T = TypeVar("T")
REQUEST_S = 5.0
REQUEST_BYTES = 1 << 20
STANDARD = 3
# What would point the guest elsewhere than its slice does; harmless to the fence, so this is tidiness, not a defence.
SLICE_OWN = ("LD_", "OCL_ICD_", "OPENCL_", "POCL_", "VXPU_")


class Refused(RuntimeError):
    """The request cannot be served; `code` is stable (docs/agent.md lists them)."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end, by SO_PEERCRED."""

    pid: int
    uid: int

    @classmethod
    def of(cls, connection: socket.socket) -> Peer:
        pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return cls(pid, uid)


class Doorway:
    """Listens for programs to start on the node; `agent.remote` starts those that the server asks for."""

    def __init__(
        self, config: Config, *, state: State, enforcer: Enforcer, credential: Credential, now_s: Callable[[], int],
        grace_s: Callable[[], int],
    ) -> None:  # fmt: skip
        self.config = config
        self.state = state
        self.enforcer = enforcer
        self.credential = credential
        self.now_s = now_s
        self.grace_s = grace_s
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Accept until cancelled. Any user of the node may connect; the lease token decides."""
        path = self.config.exec_socket
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as listener:
            listener.bind(str(path))
            path.chmod(0o666)
            listener.listen(64)
            loop = asyncio.get_running_loop()
            while True:
                connection, _ = await loop.sock_accept(listener)
                self._spawn(self._welcome(connection))

    async def _welcome(self, connection: socket.socket) -> None:
        descriptors: list[int] = []
        try:
            request, descriptors = await in_thread(lambda: read_request(connection))
            folder = open_workdir(Peer.of(connection), request.cwd) if self.enforcer.own_uid else None
            if folder is not None:
                descriptors.append(folder)
            self.start(request, [*descriptors[:STANDARD], connection.fileno(), *descriptors[STANDARD:]])
        except Refused as refusal:
            answer = ExecRefused(code=refusal.code, detail=str(refusal))
            with contextlib.suppress(OSError):
                connection.sendall(answer.model_dump_json().encode() + b"\n")
        finally:
            connection.close()
            for descriptor in descriptors:
                os.close(descriptor)

    def start(self, request: ExecRequest, descriptors: list[int]) -> None:
        """Start the program of an honest request; its shim answers. Raises Refused."""
        record = self._slice_of(request.lease_token)
        if record.holder is None:
            raise Refused("not_ready", f"slice {record.lease_id} is still being made")
        environment = self._environment(record, request)
        program = {"request": request.model_dump(), "environment": environment, "grace_s": self.grace_s()}
        try:
            self.enforcer.start(record.spec, record.holder, program, descriptors)
        except (OSError, LaunchFailed) as error:
            raise Refused("cannot_start", str(error)) from error

    def start_own(
        self, record: SliceRecord, argv: Sequence[str], environment: Mapping[str, str], descriptors: list[int]
    ) -> None:
        """Start a program of the agent's in a slice that is ready. Raises OSError, LaunchFailed."""
        request = ExecRequest(lease_token="", argv=list(argv), env={})
        everything = {**self._environment(record, request), **environment}
        program = {"request": request.model_dump(), "environment": everything, "grace_s": self.grace_s()}
        if record.holder is None:
            raise LaunchFailed("the slice is still being made")
        self.enforcer.start(record.spec, record.holder, program, descriptors)

    def _slice_of(self, lease_token: str) -> SliceRecord:
        try:
            lease_id, fence = self.credential.read_lease_token(lease_token, now_s=self.now_s())
        except BadLeaseToken as error:
            raise Refused(error.code, str(error)) from error
        record = self.state.slices.get(lease_id)
        if record is None:
            raise Refused("not_found", f"there is no slice {lease_id} on this node")
        if fence != record.token:
            raise Refused("superseded", f"slice {lease_id} has another token now; ask for a new lease token")
        if record.state != LeaseState.READY:
            raise Refused("not_ready", f"slice {lease_id} is {record.state}")
        if record.gate_closed:
            raise Refused("gate_closed", f"slice {lease_id} is paused: the node has no word from the server")
        return record

    def _environment(self, record: SliceRecord, request: ExecRequest) -> dict[str, str]:
        """Nothing of the agent's own environment: a plain one, the client's wishes, then what the slice fixes."""
        asked = {name: value for name, value in request.env.items() if not name.startswith(SLICE_OWN)}
        home = (
            HOME
            if self.enforcer.has_namespaces
            else str(self.config.run_dir / "slices" / record.lease_id / "scratch/home")
        )
        fixed = {
            "HOME": home,
            "POCL_CACHE_DIR": f"{home}/.cache/pocl",
            "OCL_ICD_VENDORS": "/etc/OpenCL/vendors",
            "VXPU_LEASE": record.lease_id,
            "VXPU_MEMORY_MIB": str(record.memory_mib),
            "VXPU_SHARE_PERMILLE": str(record.share_permille),
        }
        if not self.enforcer.has_namespaces:
            del fixed["OCL_ICD_VENDORS"]
            fixed["LD_PRELOAD"] = str(self.config.library)
        if record.card is not None:
            fixed |= dict(record.card.environment)
        return {**base_environment(), **asked, **fixed}

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread of its own: a pool would let a few slow clients starve the rest.

    A daemon thread, so that a program which still runs does not keep a stopping agent alive.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(error: Exception | None, result: T | None) -> None:
        if not future.done():
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(cast("T", result))

    def run() -> None:
        error, result = None, None
        try:
            result = work()
        except Exception as caught:  # noqa: BLE001 - raised again where it is awaited
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, error, result)

    threading.Thread(target=run, daemon=True).start()
    return await future


def base_environment() -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "TMPDIR": "/tmp",  # noqa: S108 - the slice's own
        "USER": "slice",
        "LOGNAME": "slice",
    }


def read_request(connection: socket.socket) -> tuple[ExecRequest, list[int]]:
    """The request and its three descriptors. Raises Refused; then every descriptor that came is closed."""
    connection.settimeout(REQUEST_S)
    descriptors: list[int] = []
    try:
        data = b""
        while not data.endswith(b"\n"):
            part, received, _, _ = socket.recv_fds(connection, 65536, 16)
            descriptors += received
            data += part
            if not part or len(data) > REQUEST_BYTES:
                break
        request = ExecRequest.model_validate_json(data)
    except (OSError, ValidationError) as error:
        _close_all(descriptors)
        raise Refused("usage", f"not a request of this protocol: {error}"[:400]) from error
    if len(descriptors) != STANDARD:
        _close_all(descriptors)
        raise Refused("usage", f"{len(descriptors)} descriptors came; stdin, stdout and stderr are wanted")
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return request, descriptors


def _close_all(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def open_workdir(peer: Peer, cwd: str) -> int | None:
    """The caller's working folder as a detached read-only mount; None for "" and for the root.

    Only a folder in which the caller already stands, or any for root: the agent may open more than its caller.
    """
    if cwd in {"", "/"}:
        return None
    try:
        folder = _open_as(peer, cwd)
        try:
            return linux.clone_tree(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise Refused("usage", f"working folder {cwd}: {error.strerror or error}") from error


def _open_as(peer: Peer, cwd: str) -> int:
    if peer.uid == 0:
        return os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    folder = os.open(f"/proc/{peer.pid}/cwd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    is_caller = Path(f"/proc/{peer.pid}").stat().st_uid == peer.uid
    stands_in = str(Path(f"/proc/self/fd/{folder}").readlink())
    if not is_caller or stands_in != cwd:
        os.close(folder)
        raise PermissionError(1, "it is not the folder that the caller stands in")
    return folder
