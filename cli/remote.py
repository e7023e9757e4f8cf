"""`vxpu exec`'s end of a program's stream (`vxpu.wire.exec`): output out, signals in, the exit code back."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from pydantic import TypeAdapter, ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from cli.errors import CliError, ServerUnavailable
from cli.execution import RELAYED, AgentRefused
from cli.exits import ExitCode
from vxpu.wire.exec import ExecEnded, ExecOutput, ExecRefused, ExecSignal, ExecStarted, ExecTaken, ExecTruncated
from vxpu.wire.exec import FromStream as _FromStream

_FROM_STREAM: TypeAdapter[ExecStarted | ExecRefused | ExecOutput | ExecTruncated | ExecEnded] = TypeAdapter(_FromStream)
OPEN_S = 10.0
FRAME_BYTES = 1 << 20
# So many interrupts before the program's end, and the caller is let go; the server then ends the program.
PATIENCE = 3
_DESCRIPTORS = {"stdout": 1, "stderr": 2}
_CLOSES = {4401: "the ticket was used already, or came too late", 1013: "the server asks to come again"}


class CallerLeft(CliError):
    exit_code = ExitCode.INTERRUPTED


def follow(stream_url: str, ticket: str, *, say: Callable[[str], None]) -> ExecEnded:
    """Start the ticket's program and stay until it ends. Raises AgentRefused, ServerUnavailable, CallerLeft."""
    return asyncio.run(_follow(stream_url, ticket, say))


async def _follow(stream_url: str, ticket: str, say: Callable[[str], None]) -> ExecEnded:
    headers = {"Authorization": f"Bearer {ticket}"}
    try:
        socket = await connect(
            stream_url, additional_headers=headers, open_timeout=OPEN_S, max_size=FRAME_BYTES, proxy=None
        )
    except (OSError, InvalidHandshake, InvalidURI, TimeoutError) as error:
        raise ServerUnavailable(
            f"{stream_url} does not answer: {error or type(error).__name__}",
            suggestion="the market's sockets are at another address than its REST API: is this one open to you?",
        ) from error
    try:
        async with socket:
            return await _Stream(socket, say).run()
    except ConnectionClosed as error:
        code = error.rcvd.code if error.rcvd else 0
        raise ServerUnavailable(
            _CLOSES.get(code, "the connection broke before the program's end was known; the program is ended too")
        ) from error


class _Stream:
    """One program's stream. Each signal that arrives here is sent on; the third interrupt gives up waiting."""

    def __init__(self, socket: ClientConnection, say: Callable[[str], None]) -> None:
        self._socket = socket
        self._say = say
        self._interrupts = 0
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self) -> ExecEnded:
        loop = asyncio.get_running_loop()
        reading = asyncio.create_task(self._read())
        for number in RELAYED:
            loop.add_signal_handler(number, self._relay, number, reading)
        try:
            return await reading
        except asyncio.CancelledError:
            raise CallerLeft("you left; the program is ended") from None
        finally:
            for number in RELAYED:
                loop.remove_signal_handler(number)

    async def _read(self) -> ExecEnded:
        while True:
            try:
                message = _FROM_STREAM.validate_json(await self._socket.recv())
            except ValidationError as error:
                raise CliError(f"the server said something that is not of the protocol: {error}") from error
            match message:
                case ExecOutput():
                    await asyncio.to_thread(write_out, message)
                    await self._tell(ExecTaken(frames=1))
                case ExecTruncated():
                    self._say("vxpu: output_truncated: more came than may wait for a reader; some is missing here")
                case ExecRefused():
                    raise AgentRefused(message.code, message.detail)
                case ExecEnded():
                    return message

    def _relay(self, number: int, reading: asyncio.Task[ExecEnded]) -> None:
        self._interrupts += number == signal.SIGINT
        if self._interrupts >= PATIENCE:
            reading.cancel()
            return
        sending = asyncio.create_task(self._tell(ExecSignal(signal=number)))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _tell(self, message: ExecTaken | ExecSignal) -> None:
        with suppress(ConnectionClosed):  # the end may be here already, unread
            await self._socket.send(message.model_dump_json())


def write_out(output: ExecOutput) -> None:
    """To our own stream of that name, as the bytes that they are. Raises BrokenPipeError when its reader has left."""
    data = memoryview(base64.b64decode(output.data))
    while data:
        data = data[os.write(_DESCRIPTORS[output.stream], data) :]
