"""Programs that are started through the server (vxpu/wire/node.py): their output, signals and end travel as frames.

The server's connection is their client: when it ends, or says that nobody waits any more, the program is ended as one
whose local client went away.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from agent.doorway import Doorway, Refused, in_thread
from vxpu.wire.exec import ExecEnded, ExecRefused, ExecRequest, ExecSignal, ExecStarted, FromAgent
from vxpu.wire.node import (
    OUTPUT_BYTES,
    WINDOW_FRAMES,
    RemoteExec,
    RemoteExit,
    RemoteHangup,
    RemoteOutput,
    RemoteSignal,
    RemoteStarted,
    RemoteTaken,
)

_FROM_SHIM: TypeAdapter[ExecStarted | ExecRefused | ExecEnded] = TypeAdapter(FromAgent)
Send = Callable[[RemoteStarted | RemoteOutput | RemoteExit], None]
SHIM_DIED = ExecEnded(code=125, platform="the program's shim died")
CANNOT_START = 126


class RemotePrograms:
    """Those that run now. All methods belong to the event loop; `leave` when the server's connection ended."""

    def __init__(self, doorway: Doorway) -> None:
        self._doorway = doorway
        self._running: dict[str, _Program] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, order: RemoteExec | RemoteSignal | RemoteTaken | RemoteHangup, send: Send) -> None:
        """An order for a program that is not here any more comes too late, and that is no error."""
        program = self._running.get(order.exec_id)
        match order:
            case RemoteExec() if program is None:
                self._start(order, send)
            case RemoteSignal() if program is not None:
                program.signal(order.signal)
            case RemoteTaken() if program is not None:
                program.make_room(order.frames)
            case RemoteHangup() if program is not None:
                program.hang_up()

    def leave(self) -> None:
        for program in self._running.values():
            program.drop()

    def _start(self, order: RemoteExec, send: Send) -> None:
        program = _Program(order.exec_id, send)
        self._running[order.exec_id] = program
        task = asyncio.create_task(self._run(order, program))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, order: RemoteExec, program: _Program) -> None:
        try:
            program.launch(order, self._doorway)
            ended = await program.follow()
        except (Refused, ValidationError, OSError) as error:
            code = getattr(error, "code", "cannot_start")
            ended = ExecEnded(code=CANNOT_START, platform=f"{code}: {error}")
        finally:
            del self._running[order.exec_id]
            program.close()
        program.send(RemoteExit(exec_id=order.exec_id, code=ended.code, detail=ended.platform[:400]))


class _Program:
    """One program: the shim's socket, the read ends of its two pipes, and how much output may be under way."""

    def __init__(self, exec_id: str, send: Send) -> None:
        self.exec_id = exec_id
        self._send = send
        self._shim, self._theirs = socket.socketpair()
        self._over, self._tell_over = os.pipe2(os.O_CLOEXEC)
        self._begun = threading.Event()
        self._readers: dict[Literal["stdout", "stderr"], int] = {}
        self._room = threading.BoundedSemaphore(WINDOW_FRAMES)
        self._dropped = False

    def launch(self, order: RemoteExec, doorway: Doorway) -> None:
        """Raises Refused, ValidationError, OSError."""
        request = ExecRequest(lease_token=order.lease_token, argv=order.argv, env=order.env)
        given = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)]
        try:
            for name in ("stdout", "stderr"):
                self._readers[name], writer = os.pipe2(os.O_CLOEXEC)
                given.append(writer)
            doorway.start(request, [*given, self._theirs.fileno()])
        finally:
            self._theirs.close()
            for descriptor in given:
                os.close(descriptor)

    async def follow(self) -> ExecEnded:
        """Until the program has ended and what it had written by then is sent; what it left running is not waited for.

        Raises Refused when it did not start.
        """
        ending = asyncio.create_task(in_thread(self._listen))
        pumps = [in_thread(partial(self._pump, name, reader)) for name, reader in self._readers.items()]
        await asyncio.gather(*pumps)
        return await ending

    def send(self, frame: RemoteStarted | RemoteOutput | RemoteExit) -> None:
        if not self._dropped:
            self._send(frame)

    def signal(self, number: int) -> None:
        with contextlib.suppress(OSError):  # the program has just ended
            self._shim.sendall(ExecSignal(signal=number).model_dump_json().encode() + b"\n")

    def make_room(self, frames: int) -> None:
        with contextlib.suppress(ValueError):  # more than was under way: the window does not grow
            for _ in range(frames):
                self._room.release()

    def hang_up(self) -> None:
        """Half of the socket only: how the program ended still comes back."""
        with contextlib.suppress(OSError):
            self._shim.shutdown(socket.SHUT_WR)

    def drop(self) -> None:
        self._dropped = True
        self.hang_up()
        self.make_room(WINDOW_FRAMES)

    def close(self) -> None:
        self._shim.close()
        self._theirs.close()
        for descriptor in (self._over, self._tell_over, *self._readers.values()):
            os.close(descriptor)

    def _listen(self) -> ExecEnded:
        """The shim's words, in a thread. Raises Refused."""
        last: ExecStarted | ExecRefused | ExecEnded = SHIM_DIED
        try:
            with self._shim.makefile() as lines:
                for line in lines:
                    last = _FROM_SHIM.validate_json(line)
                    if isinstance(last, ExecStarted):
                        self.send(RemoteStarted(exec_id=self.exec_id, lease_id=last.lease_id, isolation=last.isolation))
                        self._begun.set()  # its output comes after this word
                    else:
                        break  # its last word, even if an orphan of the program keeps the shim
        finally:
            os.write(self._tell_over, b"!")
            self._begun.set()
        if isinstance(last, ExecRefused):
            raise Refused(last.code, last.detail)
        return last if isinstance(last, ExecEnded) else SHIM_DIED

    def _pump(self, name: Literal["stdout", "stderr"], reader: int) -> None:
        """To the end of the pipe; once the program is over, to the end of what is in it."""
        self._begun.wait()
        watcher = select.poll()
        watcher.register(reader, select.POLLIN)
        watcher.register(self._over, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in watcher.poll()}
            data = os.read(reader, OUTPUT_BYTES) if reader in ready else b""
            if not data:
                return
            while not self._dropped and not self._room.acquire(timeout=1.0):
                continue
            text = base64.b64encode(data).decode()
            self.send(RemoteOutput(exec_id=self.exec_id, stream=name, data=text))
