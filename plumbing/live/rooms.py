"""Feeds and who watches them, in one process."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from plumbing.live.outlet import Outlet
from plumbing.live.topics import Topic, View
from plumbing.live.valkey import VALKEY_AWAY
from vxpu.wire.live import Delta, Metrics

log = logging.getLogger(__name__)

NOTHING = "0-0"
MOST_HELD = 1000
EARLY = 0.4


def number_of(seq: str) -> tuple[int, int]:
    """Valkey's id of a stream entry, to be compared. Raises ValueError."""
    milliseconds, _, count = seq.partition("-")
    return int(milliseconds), int(count)


@dataclass(slots=True, eq=False)
class Subscription:
    """One topic on one connection. `held` gathers deltas while a snapshot is read, None while they are passed on."""

    topic: str
    spec: Topic
    view: View
    outlet: Outlet
    seq: str = NOTHING
    held: list[tuple[str, Any]] | None = field(default_factory=list)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    is_over: bool = False

    def take_delta(self, seq: str, data: Any) -> None:
        if self.held is None:
            self.say_delta(seq, data)
        elif len(self.held) < MOST_HELD:
            self.held.append((seq, data))
        else:
            self.outlet.overflow()

    def say_delta(self, seq: str, data: Any) -> None:
        """Unless it was said before."""
        if number_of(seq) <= number_of(self.seq):
            return
        self.seq = seq
        seen = data if self.view.shape is None else self.view.shape(data)
        if seen is not None:
            self.outlet.put_state(Delta(topic=self.topic, seq=seq, data=seen).model_dump_json())

    def pass_on(self) -> None:
        """What was held goes out, and from now on everything as it comes."""
        held, self.held = self.held or [], None
        for seq, data in held:
            self.say_delta(seq, data)


class Room:
    """One feed. `news` and `metrics` are called with what was published; `close` when nobody is left."""

    def __init__(self, feed: str, spec: Topic) -> None:
        self.feed = feed
        self._spec = spec
        self.subscriptions: set[Subscription] = set()
        self._waiting: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._next_at = 0.0
        self._keeper: asyncio.Task[None] | None = None

    def join(self, subscription: Subscription) -> None:
        self.subscriptions.add(subscription)
        if subscription.view.keep is not None and self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())

    def news(self, seq: str, data: Any) -> None:
        for subscription in tuple(self.subscriptions):
            subscription.take_delta(seq, data)

    def metrics(self, data: Any) -> None:
        """One frame a period, on the long run; what comes in between is merged into the next.

        A frame may be a little early, or a late one would put off all that follow it at the same pace.
        """
        self._waiting = data if self._waiting is None else self._spec.merge(self._waiting, data)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._next_at - EARLY * self._spec.period_s), self._flush)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._keeper is not None:
            self._keeper.cancel()

    def _flush(self) -> None:
        self._timer = None
        self._next_at = max(self._next_at, asyncio.get_running_loop().time()) + self._spec.period_s
        data, self._waiting = self._waiting, None
        at, texts = timezone.now(), dict[str, str]()
        for subscription in self.subscriptions:
            if subscription.view.shape is None:
                # Encoded once for all who see the same.
                text = (
                    texts.get(subscription.topic)
                    or Metrics(topic=subscription.topic, at=at, data=data).model_dump_json()
                )
                texts[subscription.topic] = text
                subscription.outlet.put_metrics(subscription.topic, text)
            elif (seen := subscription.view.shape(data)) is not None:
                text = Metrics(topic=subscription.topic, at=at, data=seen).model_dump_json()
                subscription.outlet.put_metrics(subscription.topic, text)

    async def _keep(self) -> None:
        """Once for all who watch; any one's `keep` will do."""
        while True:
            keep = next((one.view.keep for one in self.subscriptions if one.view.keep is not None), None)
            if keep is not None:
                try:
                    await keep()
                except VALKEY_AWAY:
                    log.warning("Valkey is away; %s is not kept", self.feed)
            await asyncio.sleep(self._spec.keep_s)


def parse_news(message: bytes) -> tuple[str, str, Any]:
    """(feed, seq or "" for metrics, data), as publish.py puts it."""
    feed, seq, text = message.decode().split("\n", 2)
    return feed, seq, json.loads(text)
