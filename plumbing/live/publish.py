"""News for whoever watches. For services: nothing leaves before the commit, and nothing raises after it.

State (`publish`) is kept in a bounded stream per feed, so that a connection that broke goes on where it was. Metrics
(`publish_metrics`) are for now only. News is a hint: a process that is killed between its commit and the next line
says nothing, and pages read again what they show from time to time.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from plumbing.live.valkey import VALKEY_AWAY, valkey

log = logging.getLogger(__name__)

NEWS = "vxpu.live.news"
CONTROL = "vxpu.live.control"
# Together, so that the order in which news is heard is that of its numbers. ARGV: how many are kept, for how long, the
# channel; then a feed and its text for each key.
_APPEND = """
for i = 1, #KEYS do
    local feed, text = ARGV[2 * i + 2], ARGV[2 * i + 3]
    local seq = redis.call('XADD', KEYS[i], 'MAXLEN', '~', ARGV[1], '*', 'd', text)
    redis.call('EXPIRE', KEYS[i], ARGV[2])
    redis.call('PUBLISH', ARGV[3], feed .. '\\n' .. seq .. '\\n' .. text)
end
"""
STREAM_TTL_S = 3600
MOST_BYTES = 64 * 1024
MOST_AT_ONCE = 200
MEND_S = 1.0


def stream_of(feed: str) -> str:
    return f"vxpu:live:{feed}"


def publish(feed: str, data: Mapping[str, Any]) -> None:
    """A change of state, said once the caller's transaction has committed (at once if there is none).

    `data` are JSON types, at most 64 KiB; put a `version` of the changed object into it, for two commits may say their
    news in either order. Raises TypeError, ValueError.
    """
    text = _text_of(data)
    if not connection.in_atomic_block:
        _say([(feed, text)])
        return
    # What one transaction has to say is said in one go.
    inside = set(connection.savepoint_ids)
    begun = next((say for ids, say, *_ in connection.run_on_commit if isinstance(say, _Speech) and ids == inside), None)
    if begun is not None:
        begun.news.append((feed, text))
    else:
        transaction.on_commit(_Speech([(feed, text)]), robust=True)


def publish_metrics(feed: str, data: Mapping[str, Any]) -> None:
    """Figures of this moment, said once the caller's transaction has committed; they may be dropped.

    Raises TypeError, ValueError.
    """
    message = metrics_message(feed, data)
    _after_commit(lambda: _say_metrics(message))


def look_again(*, user_id: UUID) -> None:
    """Once the transaction has committed: judge this user's open connections again, at once."""
    _after_commit(lambda: _control(user=str(user_id)))


def metrics_message(feed: str, data: Mapping[str, Any]) -> str:
    """For a loop, which publishes it to `NEWS` itself. Raises TypeError, ValueError."""
    return f"{feed}\n\n{_text_of(data)}"


def _after_commit(say: Callable[[], None]) -> None:
    """At once where no transaction is open: the database is not even asked."""
    if connection.in_atomic_block:
        transaction.on_commit(say, robust=True)
    else:
        say()


def _text_of(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    if len(text) > MOST_BYTES:
        raise ValueError(f"{len(text)} bytes are more than a frame may have")
    return text


@dataclass(frozen=True, slots=True)
class _Speech:
    """News of one transaction, as (feed, text), in order."""

    news: list[tuple[str, str]]

    def __call__(self) -> None:
        for first in range(0, len(self.news), MOST_AT_ONCE):
            _say(self.news[first : first + MOST_AT_ONCE])


def _say(news: Sequence[tuple[str, str]]) -> None:
    keys = [stream_of(feed) for feed, _ in news]
    words = [part for pair in news for part in pair]
    try:
        if not _mender.is_at_work:
            valkey().eval(_APPEND, len(keys), *keys, str(settings.VXPU_LIVE_KEPT), str(STREAM_TTL_S), NEWS, *words)
            return
    except VALKEY_AWAY:
        log.warning("Valkey is away; those who watch will get a snapshot", exc_info=True)
    _mender.note(*(feed for feed, _ in news))


def _say_metrics(message: str) -> None:
    try:
        if not _mender.is_at_work:
            valkey().publish(NEWS, message)
    except VALKEY_AWAY:
        log.warning("Valkey is away; figures are lost", exc_info=True)
        _mender.note()


def _control(**what: str) -> None:
    try:
        valkey().publish(CONTROL, json.dumps(what))
    except VALKEY_AWAY:
        log.warning("Valkey is away; connections are judged at their next turn", exc_info=True)


class _Mender:
    """Feeds whose news could not be said: their watchers are told to read anew, as soon as anybody can be told.

    While it is at work nobody else tries, so that requests do not wait for a dead Valkey.
    """

    def __init__(self) -> None:
        self.is_at_work = False
        self._lock = threading.Lock()
        self._feeds: set[str] = set()

    def note(self, *feeds: str) -> None:
        with self._lock:
            self._feeds.update(feeds)
            if not self.is_at_work:
                self.is_at_work = True
                threading.Thread(target=self._mend, daemon=True, name="live-mender").start()

    def _mend(self) -> None:
        while True:
            time.sleep(MEND_S)
            with self._lock:
                feeds, self._feeds = self._feeds, set()
            try:
                valkey().publish(CONTROL, json.dumps({"lost": sorted(feeds)}))
            except VALKEY_AWAY:
                with self._lock:
                    self._feeds |= feeds
                continue
            with self._lock:
                if not self._feeds:
                    self.is_at_work = False
                    return


_mender = _Mender()
