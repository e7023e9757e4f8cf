"""The server's time as this node knows it: windows lie on its grid, lengths come from the monotonic clock.

The node's own wall clock may be wrong by minutes or jump; it serves only until the server has spoken once.
"""

from __future__ import annotations

from dataclasses import dataclass

DRIFT_PPM = 100


@dataclass(frozen=True, slots=True)
class Anchor:
    """At `mono_ns` of our clock the server's clock read `server_ns`, give or take `error_ns`."""

    server_ns: int
    mono_ns: int
    error_ns: int

    def at(self, mono_ns: int) -> int:
        return self.server_ns + mono_ns - self.mono_ns

    def error_at(self, mono_ns: int) -> int:
        return self.error_ns + (mono_ns - self.mono_ns) * DRIFT_PPM // 1_000_000


class ServerClock:
    """Never runs backwards once the server has spoken; `anchor` is None until then."""

    def __init__(self, *, wall_ns: int, mono_ns: int, anchor: Anchor | None = None) -> None:
        self.anchor = anchor
        self._guess = Anchor(wall_ns, mono_ns, 0)
        self._latest = 0

    def observe(self, *, server_ns: int, sent_mono_ns: int, received_mono_ns: int) -> None:
        """An answer that the server stamped `server_ns`, to what we sent and received at these instants.

        Half the round trip is the error (as in NTP, RFC 5905). A worse reading replaces a better one only when the
        two cannot both be true: then a clock was set.
        """
        half = max(0, received_mono_ns - sent_mono_ns) // 2
        new = Anchor(server_ns + half, received_mono_ns, half)
        old = self.anchor
        if old is not None:
            known = old.error_at(received_mono_ns)
            apart = abs(old.at(received_mono_ns) - new.server_ns)
            if new.error_ns > known and apart <= new.error_ns + known:
                return
        self.anchor = new

    def now_ns(self, mono_ns: int) -> int:
        """Nanoseconds since the epoch by the server's clock; our own wall clock's guess until it has spoken."""
        if self.anchor is None:
            return self._guess.at(mono_ns)
        self._latest = max(self._latest, self.anchor.at(mono_ns))
        return self._latest

    def offset_ms(self, *, wall_ns: int, mono_ns: int) -> int:
        """The server's clock less our wall clock; 0 while the server has not spoken."""
        return (self.anchor.at(mono_ns) - wall_ns) // 1_000_000 if self.anchor else 0
