"""What may be watched. A room lists its topics; config/sockets.py joins the lists."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plumbing.errors import NotFound
from plumbing.principal import Principal

Json = Any


def latest(before: Json, after: Json) -> Json:  # noqa: ARG001 - the signature of `Topic.merge`
    """Of metrics that wait to be sent, the newest."""
    return after


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one principal gets of one topic.

    `feed` is what services publish to. `snapshot` reads all there is, in one consistent read; it runs in the
    principal's scope. `shape` makes of a delta's or metrics' data what this principal may see, None for nothing.
    `keep` is awaited at once and every `Topic.keep_s` while anybody in this process watches the feed; it must be cheap
    and may raise redis.RedisError or OSError.
    """

    feed: str
    snapshot: Callable[[], Json]
    shape: Callable[[Json], Json | None] | None = None
    keep: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """`pattern` is like ``lease/{lease}/metrics``. `open` judges: it runs in the principal's scope and raises NotFound
    (another tenant's too) or Forbidden; it is asked again when the principal's rights have changed.

    Metrics of a feed go out every `period_s` at most; those that come in between are merged.
    """

    pattern: str
    open: Callable[[Principal, Mapping[str, str]], View]
    period_s: float = 0.5
    merge: Callable[[Json, Json], Json] = latest
    keep_s: float = 3.0


@dataclass(frozen=True, slots=True)
class Topics:
    """All of them, to find one by its full name."""

    all: Sequence[Topic]
    _compiled: list[tuple[re.Pattern[str], Topic]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._compiled.extend((_expression(topic.pattern), topic) for topic in self.all)

    def find(self, name: str) -> tuple[Topic, dict[str, str]]:
        """The topic and the parts of its name. Raises NotFound."""
        for expression, topic in self._compiled:
            if (match := expression.fullmatch(name)) is not None:
                return topic, match.groupdict()
        raise NotFound(f"There is no topic {name[:80]!r}.", suggestion="docs/live.md lists them.")


def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    names = [
        rf"(?P<{part}>[A-Za-z0-9_.-]{{1,80}})" if index % 2 else re.escape(part) for index, part in enumerate(parts)
    ]
    return re.compile("".join(names))
