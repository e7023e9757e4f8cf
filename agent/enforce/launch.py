"""The launcher: a small, single-threaded process that makes slices' namespaces and starts programs in them.

The daemon has an event loop and descriptors that no guest may inherit, so it never forks a guest itself. It talks to
this process over a SEQPACKET socket (descriptor 0): each request is one packet of ancillary descriptors, the first of
them a memfd with the JSON body. The launcher dies with the daemon; what it started lives on (`holder`, `shim`).

    hold  -> makes the namespaces of a slice; process 1 in them keeps them alive. Answer {"pid", "start_ticks"}
    start -> forks a shim that starts a program in a slice and serves its client. No answer
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

from agent.enforce import linux, shim
from agent.enforce.place import Place, build
from agent.host import start_ticks

MAX_FDS = 8


def main() -> None:
    """Serve until the daemon closes its end."""
    control = socket.socket(fileno=0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the daemon's to handle
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    gc.freeze()
    while True:
        received = receive(control)
        if received is None:
            return
        body, descriptors = received
        try:
            if body["op"] == "hold":
                control.send(json.dumps(hold(Place.from_json(body["place"]))).encode())
            else:
                start(control, body, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def receive(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next request and its descriptors (without the body's own); None at the end."""
    packet, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(MAX_FDS * 4))
    if not packet:
        return None
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    with os.fdopen(descriptors[0], "rb") as body:
        body.seek(0)
        return json.load(body), list(descriptors[1:])


def start(control: socket.socket, body: dict[str, Any], descriptors: list[int]) -> None:
    if os.fork() == 0:
        code = 1
        try:
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            code = shim.run(body, descriptors)
        finally:
            os._exit(code)


def hold(place: Place) -> dict[str, Any]:
    """Make the slice's namespaces; answers the pid of their process 1 (as the host sees it), or {"error"}."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        try:
            _enter_namespaces(place, writer)
        except Exception as error:  # noqa: BLE001 - a forked child has nobody above it to tell
            os.write(writer, json.dumps({"error": str(error)}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        text = answer.read()
    found: dict[str, Any] = json.loads(text.splitlines()[-1]) if text else {"error": "the launcher's child died"}
    return found


def _enter_namespaces(place: Place, writer: int) -> None:
    """In a child: join the cgroup, unshare, fork process 1, wait for its word, report it."""
    os.setsid()
    join(place.entrances)
    if place.user_namespace:
        _own_user_namespace()
    linux.unshare(linux.CLONE_NEWIPC | linux.CLONE_NEWPID)
    built, say_built = os.pipe()
    child = os.fork()
    if child == 0:
        _be_process_one(place, say_built)
    os.close(say_built)
    word = os.read(built, 4096).decode(errors="replace")
    if word == "ok":
        answer: dict[str, Any] = {"pid": child, "start_ticks": start_ticks(child)}
    else:
        answer = {"error": word or "process 1 of the slice died"}
    os.write(writer, json.dumps(answer).encode())


def _own_user_namespace() -> None:
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _be_process_one(place: Place, say_built: int) -> None:
    """Build the slice's tree, drop every right, then reap orphans until killed."""
    try:
        for number in range(1, 32):
            if number not in {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL if number == signal.SIGCHLD else signal.SIG_IGN)
        linux.unshare(linux.CLONE_NEWNS)  # not in the parent, which must go on seeing the host's /proc
        build(place)
        null = os.open("/dev/null", os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        shim.close_all_but({0, 1, 2, say_built})
        shim.drop_rights(place)
        # Same uid as the guest, which may not trace it; but an agent without root must be able to join its namespaces.
        linux.prctl(linux.PR_SET_DUMPABLE, int(place.user_namespace))
        os.write(say_built, b"ok")
        os.close(say_built)
        _reap_forever()
    except Exception as error:  # noqa: BLE001 - a forked child has nobody above it to tell
        os.write(say_built, f"{error!r}".encode())
    finally:
        os._exit(1)


def _reap_forever() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        signal.sigwaitinfo({signal.SIGCHLD})


def join(entrances: tuple[str, ...]) -> None:
    for entrance in entrances:
        Path(entrance).write_text("0")


if __name__ == "__main__":
    main()
