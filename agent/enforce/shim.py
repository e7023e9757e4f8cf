"""The shim: one process per program that `vxpu run` starts. It outlives the daemon, so a program does too.

It stands outside the slice, starts the program inside, and serves the client's socket: signals in, the exit code out.
When the client goes away the program is ended: SIGTERM to its process group, then SIGKILL after the grace.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import time
from pathlib import Path
from typing import Any

from agent.enforce import linux
from agent.enforce.place import Place, hide_below, mask_icds, workdir_target
from agent.host import start_ticks
from vxpu.wire.exec import ExecEnded, ExecRefused, ExecRequest, ExecSignal, ExecStarted

RLIMITS = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 65536))
LINE_LIMIT = 1 << 20


def run(body: dict[str, Any], descriptors: list[int]) -> int:
    """Start `body`'s program with `descriptors` = stdin, stdout, stderr, client, [working folder]; 0 when served."""
    place = Place.from_json(body["place"])
    client = socket.socket(fileno=os.dup(descriptors[3]))
    os.setsid()
    reader, writer = os.pipe()
    try:
        child = _start(place, body, descriptors, writer)
    except OSError as error:
        _send(client, ExecRefused(code="slice_gone", detail=str(error)))
        return 1
    os.close(writer)
    for standard in descriptors[:3]:
        os.close(standard)
    descriptors.clear()
    with os.fdopen(reader, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(child, 0)
        _send(client, ExecRefused(**json.loads(failure)))
        return 1
    _send(client, ExecStarted(lease_id=place.lease_id, isolation=body["isolation"]))
    code = _serve(client, child, grace_s=body["grace_s"])
    note = Path(body["end_note"])
    _send(client, ExecEnded(code=code, platform=note.read_text() if note.exists() else ""))
    if place.ledger:
        client.close()
        _settle(Path(place.ledger))
    return 0


def _sign_in(ledger: Path) -> None:
    """Where no cgroup counts, the agent finds a slice's programs as the descendants of its shims."""
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    (ledger / "shims" / str(os.getpid())).write_text(f"{os.getpid()} {start_ticks(os.getpid())}")


def _settle(ledger: Path) -> None:
    """Wait for orphans, then leave what all of them spent in the ledger: one short append, whole or not at all."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (ledger / "spent").open("a") as notes:
        notes.write(f"{int((spent.ru_utime + spent.ru_stime) * 1e9)}\n")
    (ledger / "shims" / str(os.getpid())).unlink(missing_ok=True)


def _start(place: Place, body: dict[str, Any], descriptors: list[int], writer: int) -> int:
    """Fork into the slice; the child reports a failure on `writer`, which closes when the program starts."""
    holder = f"/proc/{body['holder']}/ns"
    if place.ledger:
        _sign_in(Path(place.ledger))
    kinds = [("ipc", linux.CLONE_NEWIPC), ("mnt", linux.CLONE_NEWNS)] if place.namespaces else []
    opened = {name: os.open(f"{holder}/{name}", os.O_RDONLY | os.O_CLOEXEC) for name, _ in kinds}
    entrances = [os.open(entrance, os.O_WRONLY | os.O_CLOEXEC) for entrance in place.entrances]
    if place.namespaces:
        _join_processes(holder, user=place.user_namespace)
    child = os.fork()
    if child:
        for descriptor in (*opened.values(), *entrances):
            os.close(descriptor)
        return child
    try:
        for entrance in entrances:
            os.write(entrance, b"0")
        for name, kind in kinds:
            linux.setns(opened[name], kind)
        _become(place, body, descriptors, writer)
    except Exception as error:  # noqa: BLE001 - a forked child has nobody above it to tell
        code = "no_such_program" if isinstance(error, FileNotFoundError) else "cannot_start"
        os.write(writer, json.dumps({"code": code, "detail": str(error)[:400]}).encode())
    finally:
        os._exit(127)


def _join_processes(holder: str, *, user: bool) -> None:
    """The process namespace counts for children only, so the shim itself stays where it can signal them."""
    process_space = os.open(f"{holder}/pid", os.O_RDONLY | os.O_CLOEXEC)
    if user:
        user_space = os.open(f"{holder}/user", os.O_RDONLY | os.O_CLOEXEC)
        linux.setns(user_space, linux.CLONE_NEWUSER)
        os.close(user_space)
    linux.setns(process_space, linux.CLONE_NEWPID)
    os.close(process_space)


def _become(place: Place, body: dict[str, Any], descriptors: list[int], writer: int) -> None:
    """In the slice, still with every right: working folder, descriptors, rights, then the program itself."""
    request = ExecRequest.model_validate(body["request"])
    folder = body["environment"]["HOME"]
    if len(descriptors) > 4:
        folder = workdir_target(request.cwd)
        linux.unshare(linux.CLONE_NEWNS)  # the working folder is this program's alone
        Path(folder).mkdir(parents=True, exist_ok=True)
        linux.attach_tree(descriptors[4], folder)
        hide_below("", place.hide, within=[folder])
        mask_icds("", place)
    elif request.cwd and Path(request.cwd).is_dir():
        folder = request.cwd
    os.setsid()
    for standard in (0, 1, 2):
        os.dup2(descriptors[standard], standard)
    os.set_inheritable(writer, False)
    close_all_but({0, 1, 2, writer})
    for number in range(1, 32):
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    drop_rights(place)
    os.umask(0o022)
    os.chdir(folder)
    environment = {**body["environment"], "PWD": folder}
    os.execvpe(request.argv[0], request.argv, environment)  # noqa: S606 - the tenant's program, in its slice


def drop_rights(place: Place) -> None:
    """Groups, gid, uid, no new privileges, limits: in this order, for each step needs the rights of the one before."""
    for limit, value in RLIMITS:
        _, hard = resource.getrlimit(limit)
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (wanted, wanted))
    if place.uid != os.geteuid():
        os.setgroups([])
        os.setresgid(place.gid, place.gid, place.gid)
        os.setresuid(place.uid, place.uid, place.uid)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)


def close_all_but(kept: set[int]) -> None:
    low = 0
    for descriptor in sorted(kept):
        if low < descriptor:  # an empty range at 0 would close everything (seen: CPython 3.11)
            os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _serve(client: socket.socket, child: int, *, grace_s: int) -> int:
    """Relay signals until the program ends; answers its code as a shell would give it."""
    watcher = select.poll()
    ended = os.pidfd_open(child)
    watcher.register(ended, select.POLLIN)
    watcher.register(client, select.POLLIN)
    pending = b""
    kill_at: float | None = None
    while True:
        wait_ms = None if kill_at is None else max(0, int((kill_at - time.monotonic()) * 1000))
        ready = {descriptor for descriptor, _ in watcher.poll(wait_ms)}
        if ended in ready:
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if kill_at is not None and time.monotonic() >= kill_at:
            _signal_group(child, signal.SIGKILL)
            kill_at = None
        if client.fileno() in ready:
            pending, alive = _relay(client, child, pending)
            if not alive:
                watcher.unregister(client)
                _signal_group(child, signal.SIGTERM)
                kill_at = time.monotonic() + grace_s


def _relay(client: socket.socket, child: int, pending: bytes) -> tuple[bytes, bool]:
    """Read what the client sent; (rest of an unfinished line, whether the client is still there)."""
    try:
        data = client.recv(65536)
    except ConnectionError:
        data = b""
    if not data or len(pending) + len(data) > LINE_LIMIT:
        return b"", False
    *lines, rest = (pending + data).split(b"\n")
    for line in lines:
        with contextlib.suppress(ValueError):  # not a message of this protocol: nothing to do for it
            _signal_group(child, ExecSignal.model_validate_json(line).signal)
    return rest, True


def _signal_group(child: int, number: int) -> None:
    # The child is ours and not yet waited for, so neither its pid nor its group can be another's.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, number)


def _send(client: socket.socket, message: ExecStarted | ExecRefused | ExecEnded) -> None:
    with contextlib.suppress(OSError):  # the client left; the program's fate does not hang on it
        client.sendall(message.model_dump_json().encode() + b"\n")
