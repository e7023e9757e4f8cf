"""Counter samples in, usage windows out. Pure: no clock, no file, integers only.

Windows lie on a fixed grid of server time: `start_s` is a multiple of the window's length. What was used between two
samples is spread over the windows that the time between them touches, in proportion; each division's remainder is
carried into the next window, so the sum of all windows never drifts from the counters.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from vxpu.states import LeaseState
from vxpu.units import MIB, WHOLE_PERMILLE

SECOND_NS = 1_000_000_000
FORMER_NAMES = {"cpu_ns": "compute_ns", "host_idle_ns": "idle_ns", "host_total_ns": "whole_ns"}
CONTENDED_SHORT_PERMILLE = 980
CONTENDED_IDLE_PERMILLE = 50
CONTENDED_WAITING_PERMILLE = 100


@dataclass(frozen=True, slots=True)
class Sample:
    """Counters at one instant, each since it began. `at_ns` is server time; lengths come from `mono_ns`.

    `compute_ns` is time of the device: of its processors, or of the card. `waiting_ns` sums how long the slice's work
    stood in line for it; `idle_ns` of `whole_ns` is how much of the device nobody used (gauge.py).
    """

    at_ns: int
    mono_ns: int
    compute_ns: int
    throttled_ns: int = 0
    waiting_ns: int = 0
    idle_ns: int = 0
    whole_ns: int = 0
    memory_bytes: int = 0
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What the slice may take from a sample on. `open` False: the gate is closed, nothing is granted.

    `is_read` False: the device cannot tell what is used of it.
    """

    share_permille: int
    memory_mib: int
    compute_units: int
    token: int
    open: bool = True
    state: LeaseState = LeaseState.READY
    is_read: bool = True


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums of one window in the counters' own units, with the remainders that the window before left."""

    compute_ns: int = 0
    granted_permille_ns: int = 0
    granted_mib_ns: int = 0
    throttled_ns: int = 0
    waiting_ns: int = 0
    idle_ns: int = 0
    whole_ns: int = 0
    peak_bytes: int = 0

    def plus(self, other: Tally) -> Tally:
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__slots__}
        return Tally(**{**sums, "peak_bytes": max(self.peak_bytes, other.peak_bytes)})


@dataclass(frozen=True, slots=True)
class Window:
    """One closed window of one lease: what `UsageData` wants, in its units."""

    start_s: int
    window_s: int
    token: int
    granted_permille_s: int
    used_permille_s: int | None
    granted_mib_s: int
    peak_mib: int
    throttled_ms: int
    contended: bool
    state: LeaseState

    def is_empty(self) -> bool:
        return not (self.granted_permille_s or self.used_permille_s)


@dataclass(frozen=True, slots=True)
class Carry:
    """Remainders: compute_ns x 1000 below compute_units x 1e9; permille-ns and MiB-ns below 1e9; ns below 1e6.

    `used` may be more: what a window could not hold (see `_close`).
    """

    used: int = 0
    granted: int = 0
    mib: int = 0
    throttled: int = 0


@dataclass(frozen=True, slots=True)
class Meter:
    """The state between two samples; it travels as JSON into the spool beside each window."""

    last: Sample
    terms: Terms
    start_s: int
    tally: Tally = Tally()
    carry: Carry = Carry()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        data = {**data, "last": _renamed(data["last"]), "tally": _renamed(data["tally"])}
        terms = {**data["terms"], "state": LeaseState(data["terms"]["state"])}
        return cls(
            last=Sample(**data["last"]), terms=Terms(**terms), start_s=data["start_s"], tally=Tally(**data["tally"]),
            carry=Carry(**data["carry"]),
        )  # fmt: skip


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    """What an agent of before the cards left in its spool has the names of processors."""
    return {FORMER_NAMES.get(name, name): value for name, value in fields.items()}


def begin(sample: Sample, terms: Terms, *, window_s: int) -> Meter:
    """Start to meter at `sample`, the first moment of `ready`."""
    return Meter(last=sample, terms=terms, start_s=_grid(sample.at_ns, window_s))


def advance(meter: Meter, sample: Sample, terms: Terms, *, window_s: int) -> tuple[Meter, list[Window]]:
    """Fold in `sample`; `terms` hold from it on. Answers the new state and the windows that closed.

    A counter that fell was reset (the group was made anew): what it shows now counts from zero. Time that ran
    backwards has no length on the grid; what was used meanwhile falls into the open window.
    """
    total = _between(meter, sample)
    start_ns, end_ns = meter.last.at_ns, sample.at_ns
    windows: list[Window] = []
    state = meter
    done = Tally()
    while end_ns >= (border := (state.start_s + window_s) * SECOND_NS):
        upto = _portion(total, max(0, border - start_ns), end_ns - start_ns) if border < end_ns else total
        state, window = _close(replace(state, tally=state.tally.plus(_less(upto, done))), window_s)
        done = upto
        if not window.is_empty():
            windows.append(window)
        if end_ns == border:
            break
        state = _skip_empty(state, total, done, end_ns, window_s)
    state = replace(state, tally=state.tally.plus(_less(total, done)), last=sample, terms=terms)
    return state, windows


def finish(meter: Meter, sample: Sample, *, window_s: int) -> list[Window]:
    """The last windows of a lease, the one under way among them."""
    state, windows = advance(meter, sample, meter.terms, window_s=window_s)
    _, last = _close(state, window_s)
    return windows if last.is_empty() else [*windows, last]


def next_border_ns(meter: Meter, *, window_s: int) -> int:
    return (meter.start_s + window_s) * SECOND_NS


def _grid(at_ns: int, window_s: int) -> int:
    return at_ns // SECOND_NS // window_s * window_s


def _skip_empty(state: Meter, total: Tally, done: Tally, end_ns: int, window_s: int) -> Meter:
    """A long silence of which nothing is left to spread needs no loop over its windows."""
    if done.compute_ns == total.compute_ns and done.granted_permille_ns == total.granted_permille_ns:
        return replace(state, start_s=max(state.start_s, _grid(end_ns, window_s)))
    return state


def _between(meter: Meter, sample: Sample) -> Tally:
    last, terms = meter.last, meter.terms

    def rise(name: str) -> int:
        now, before = getattr(sample, name), getattr(last, name)
        return int(now - before if now >= before else now)

    length = max(0, sample.mono_ns - last.mono_ns) if terms.open else 0
    peaks = [last.memory_bytes, sample.memory_bytes]
    if sample.peak_bytes is not None and sample.peak_bytes != last.peak_bytes:
        peaks.append(sample.peak_bytes)  # the record was broken (or begun) in this interval
    return Tally(
        compute_ns=rise("compute_ns"),
        granted_permille_ns=terms.share_permille * length,
        granted_mib_ns=terms.memory_mib * length,
        throttled_ns=rise("throttled_ns"),
        waiting_ns=max(0, sample.waiting_ns - last.waiting_ns),
        idle_ns=rise("idle_ns"),
        whole_ns=rise("whole_ns"),
        peak_bytes=max(peaks),
    )


def _portion(total: Tally, part: int, whole: int) -> Tally:
    """`total` x part / whole, each field rounded down: the difference of two such portions loses nothing."""
    shares = {name: getattr(total, name) * part // whole for name in Tally.__slots__}
    return Tally(**{**shares, "peak_bytes": total.peak_bytes})


def _less(total: Tally, done: Tally) -> Tally:
    rests = {name: getattr(total, name) - getattr(done, name) for name in Tally.__slots__}
    return Tally(**{**rests, "peak_bytes": total.peak_bytes})


def _close(meter: Meter, window_s: int) -> tuple[Meter, Window]:
    tally, terms, carry = meter.tally, meter.terms, meter.carry
    used, used_rest = divmod(tally.compute_ns * 1000 + carry.used, terms.compute_units * SECOND_NS)
    # A card's driver samples by periods of its own, so a window may be told of the end of the one before it. Nobody can
    # have more than the device: what is over belongs next door.
    over = max(0, used - WHOLE_PERMILLE * window_s)
    used, used_rest = used - over, used_rest + over * terms.compute_units * SECOND_NS
    granted, granted_rest = divmod(tally.granted_permille_ns + carry.granted, SECOND_NS)
    mib, mib_rest = divmod(tally.granted_mib_ns + carry.mib, SECOND_NS)
    throttled, throttled_rest = divmod(tally.throttled_ns + carry.throttled, 1_000_000)
    window = Window(
        start_s=meter.start_s,
        window_s=window_s,
        token=terms.token,
        granted_permille_s=granted,
        used_permille_s=used if terms.is_read else None,
        granted_mib_s=mib,
        peak_mib=-(-tally.peak_bytes // MIB),
        throttled_ms=throttled,
        contended=_is_contended(tally, used=used, granted=granted, window_ns=window_s * SECOND_NS),
        state=terms.state,
    )
    rest = Carry(used_rest, granted_rest, mib_rest, throttled_rest)
    return replace(meter, start_s=meter.start_s + window_s, tally=Tally(), carry=rest), window


def _is_contended(tally: Tally, *, used: int, granted: int, window_ns: int) -> bool:
    """Other load kept the slice from its share: it got less, its work stood in line, and the device had nothing idle.

    All three are needed. A slice that asked for less does not stand in line, and one that its own quota held back had
    its share.
    """
    return (
        used * 1000 < granted * CONTENDED_SHORT_PERMILLE
        and tally.waiting_ns * 1000 >= window_ns * CONTENDED_WAITING_PERMILLE
        and tally.idle_ns * 1000 < tally.whole_ns * CONTENDED_IDLE_PERMILLE
    )
