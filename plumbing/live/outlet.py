"""What waits to be sent on one connection: state in order and complete, metrics only as long as they are the newest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

MOST_FRAMES = 512
MOST_BYTES = 1024 * 1024


class Outlet:
    """`send` takes as long as the reader does. `on_overflow` is called once, when state piles up beyond the bound: the
    connection must then be closed, so that its client resumes. `drain` is the one that sends; the rest only puts in.
    """

    def __init__(self, send: Callable[[str], Awaitable[None]], on_overflow: Callable[[], None]) -> None:
        self._send = send
        self._on_overflow = on_overflow
        self._state: deque[str] = deque()
        self._bytes = 0
        self._metrics: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._is_open = True

    def put_state(self, text: str) -> None:
        if not self._is_open:
            return
        self._state.append(text)
        self._bytes += len(text)
        self._wake.set()
        if len(self._state) > MOST_FRAMES or self._bytes > MOST_BYTES:
            self.overflow()

    def overflow(self) -> None:
        """State cannot be kept for this reader any more."""
        if self._is_open:
            self.shut()
            self._on_overflow()

    def put_metrics(self, topic: str, text: str) -> None:
        """In place of the topic's metrics that were not sent yet."""
        if self._is_open:
            self._metrics[topic] = text
            self._wake.set()

    def forget(self, topic: str) -> None:
        """No more metrics of it; state that is on its way still comes."""
        self._metrics.pop(topic, None)

    def shut(self) -> None:
        """Nothing more is taken in or sent."""
        self._is_open = False
        self._state.clear()
        self._metrics.clear()

    async def finish(self) -> None:
        """Until what is there has been taken, for a second at most."""
        for _ in range(20):
            if not self._state:
                return
            await asyncio.sleep(0.05)

    async def drain(self) -> None:
        """Until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._state or self._metrics:
                await self._send(self._take())

    def _take(self) -> str:
        if self._state:
            text = self._state.popleft()
            self._bytes -= len(text)
            return text
        topic = next(iter(self._metrics))
        return self._metrics.pop(topic)
