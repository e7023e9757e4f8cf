"""The meters of all slices and the spool behind them: samples in, events out, nothing lost at a kill -9."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from agent.clock import ServerClock
from agent.gauge import Counters
from agent.meter import Meter, Sample, Terms, Window, advance, begin, finish, next_border_ns
from agent.spool import Spool
from agent.usage import FIRST_HASH, chain_hash, to_event


@dataclass(frozen=True, slots=True)
class Page:
    """One lease's meter with what its events need: the spool keeps it whole. `window_s` stays for the lease's life."""

    meter: Meter
    window_s: int
    boot: str
    seq: int = 0
    prev_hash: str = FIRST_HASH

    def to_json(self) -> dict[str, Any]:
        return {
            "meter": self.meter.to_json(), "window_s": self.window_s, "boot": self.boot, "seq": self.seq,
            "prev_hash": self.prev_hash,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Page:
        return cls(Meter.from_json(data["meter"]), data["window_s"], data["boot"], data["seq"], data["prev_hash"])


class Books:
    """One meter a lease. Every method that closes windows or changes terms is on disk when it returns."""

    def __init__(self, spool: Spool, clock: ServerClock, *, node_id: str, boot: str) -> None:
        self.spool = spool
        self.clock = clock
        self.node_id = node_id
        self.boot = boot
        self.closed: dict[str, int] = {}
        self._pages = {lease_id: self._adopt(Page.from_json(data)) for lease_id, data in spool.meters.items()}

    def _adopt(self, page: Page) -> Page:
        """After a reboot neither the monotonic clock nor any counter goes on: nothing was granted meanwhile."""
        if page.boot == self.boot:
            return page
        last = replace(page.meter.last, mono_ns=time.monotonic_ns(), compute_ns=0, throttled_ns=0, waiting_ns=0,
                       idle_ns=0, whole_ns=0)  # fmt: skip
        return replace(page, boot=self.boot, meter=replace(page.meter, last=last))

    def __contains__(self, lease_id: str) -> bool:
        return lease_id in self._pages

    def leases(self) -> set[str]:
        return set(self._pages)

    def latest(self, lease_id: str) -> Sample | None:
        """The last sample of a lease that is metered here."""
        page = self._pages.get(lease_id)
        return page.meter.last if page else None

    def windows_closed(self, lease_id: str) -> int:
        """How many windows of this lease were made so far, sent or not."""
        page = self._pages.get(lease_id)
        return page.seq if page else self.closed.get(lease_id, 0)

    def unsent(self) -> Counter[str]:
        """Windows that the server has not acknowledged, per lease."""
        return Counter(identity.rpartition("/")[0] for identity, _ in self.spool.batch(sys.maxsize))

    def open(self, lease_id: str, counters: Counters, terms: Terms, *, window_s: int) -> None:
        """Begin to meter; a lease that was metered here before (another token, a repair) goes on where it stopped."""
        sample = self._sample(lease_id, counters)
        known = self._pages.get(lease_id)
        if known is not None:
            self._fold(lease_id, sample, terms)
            return
        page = Page(begin(sample, terms, window_s=window_s), window_s, self.boot)
        self._pages[lease_id] = page
        self.spool.record_meter(lease_id, page.to_json())

    def tick(self, lease_id: str, counters: Counters | None) -> None:
        """Fold in a sample; closed windows go to the spool. `counters` None: unreadable, the last ones stand."""
        page = self._pages[lease_id]
        self._fold(lease_id, self._sample(lease_id, counters), page.meter.terms)

    def change(self, lease_id: str, counters: Counters | None, **terms: Any) -> None:
        """New terms from now on (share_permille, memory_mib, token, open, state)."""
        page = self._pages[lease_id]
        self._fold(lease_id, self._sample(lease_id, counters), replace(page.meter.terms, **terms))

    def close(self, lease_id: str, counters: Counters | None) -> None:
        """The lease ended: its last window is closed early. `counters` None: they went with the slice."""
        page = self._pages.pop(lease_id, None)
        if page is None:
            return
        sample = page.meter.last if counters is None else self._sample(lease_id, counters)
        page, events = self._events(lease_id, page, finish(page.meter, sample, window_s=page.window_s))
        self.closed[lease_id] = page.seq
        self.spool.record_last(lease_id, events)

    def next_border_ns(self) -> int | None:
        """When the next window closes, by the server's clock."""
        return min((next_border_ns(page.meter, window_s=page.window_s) for page in self._pages.values()), default=None)

    def _fold(self, lease_id: str, sample: Sample, terms: Terms) -> None:
        page = self._pages[lease_id]
        meter, windows = advance(page.meter, sample, terms, window_s=page.window_s)
        page, events = self._events(lease_id, replace(page, meter=meter), windows)
        changed = terms != self._pages[lease_id].meter.terms
        self._pages[lease_id] = page
        if events:
            self.spool.record_windows(lease_id, page.to_json(), events)
        elif changed:
            self.spool.record_meter(lease_id, page.to_json())

    def _events(self, lease_id: str, page: Page, windows: list[Window]) -> tuple[Page, dict[str, str]]:
        events: dict[str, str] = {}
        offset_ms = self.clock.offset_ms(wall_ns=time.time_ns(), mono_ns=time.monotonic_ns())
        for window in windows:
            event = to_event(
                window, node_id=self.node_id, lease_id=lease_id, seq=page.seq, prev_hash=page.prev_hash,
                offset_ms=offset_ms, mono_ns=page.meter.last.mono_ns,
            )  # fmt: skip
            text = event.model_dump_json()
            events[event.id] = text
            page = replace(page, seq=page.seq + 1, prev_hash=chain_hash(text))
        return page, events

    def _sample(self, lease_id: str, counters: Counters | None) -> Sample:
        mono_ns = time.monotonic_ns()
        if counters is None:
            return replace(self._pages[lease_id].meter.last, at_ns=self.clock.now_ns(mono_ns), mono_ns=mono_ns)
        return Sample(
            at_ns=self.clock.now_ns(mono_ns),
            mono_ns=mono_ns,
            compute_ns=counters.compute_ns,
            throttled_ns=counters.throttled_ns,
            waiting_ns=counters.waiting_ns,
            idle_ns=counters.idle_ns,
            whole_ns=counters.whole_ns,
            memory_bytes=counters.memory_bytes,
            peak_bytes=counters.peak_bytes,
        )
