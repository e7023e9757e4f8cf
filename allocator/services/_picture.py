"""The fleet as this process holds it in memory: one picture, brought up to date before every look.

Why nothing is missed: triggers write a row into `allocator_change` in the transaction of every change, with its id. A
look notes its snapshot; the next one reads again what is named by rows whose transaction that snapshot does not show.
A transaction that committed late was not shown then, so it is read now; one that rolled back left no rows. What a look
saw of its own transaction's changes may roll back yet, and is read again by the next look.

Why an old picture is harmless: it is rebuilt from the rows before anything is proposed when this process has not looked
for a while, when the database is another one or seems to have gone back, when a look failed, and now and then anyway.
And it only proposes: `allocator_book` decides.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from allocator.engine.draft import Draft
from allocator.engine.fleet import FOREVER, Card, Fleet, HostTaken, Machine, Taken
from allocator.engine.mig import Slots
from allocator.services._policies import Rules, read_rules
from allocator.services._snapshot import read_nodes, to_instant

# In one statement: the snapshot, this transaction if it has written, and what is new since the last snapshot.
_NEWS = """
WITH news AS (
    SELECT DISTINCT node_id, device_id, txid = pg_current_xact_id_if_assigned() AS own FROM allocator_change
     WHERE txid >= least(pg_snapshot_xmin(%(last)s::pg_snapshot), %(oldest)s::xid8)
       AND (NOT pg_visible_in_snapshot(txid, %(last)s::pg_snapshot) OR txid = pg_current_xact_id_if_assigned()
            OR txid = %(doubtful)s::xid8)
)
SELECT pg_current_snapshot()::text, pg_current_xact_id_if_assigned()::text, n.node_id, n.device_id, n.own
  FROM (SELECT 1) one LEFT JOIN news n ON true
"""
_NOW = "SELECT pg_current_snapshot()::text, pg_current_xact_id_if_assigned()::text"
_PIECES = """
SELECT s.device_id, s.lease_id, (extract(epoch FROM lower(s.period)) * 1000000)::bigint,
       (extract(epoch FROM upper(s.period)) * 1000000)::bigint, s.permille, s.mib, s.mode_class, s.copy_permille,
       s.cores_milli, s.host_mib, lower(s.slots), upper(s.slots),
       CASE WHEN l.state = 'held' THEN (extract(epoch FROM l.hold_until) * 1000000)::bigint END
  FROM allocator_segment s JOIN allocator_lease l ON l.id = s.lease_id
 WHERE s.live AND (%(devices)s::uuid[] IS NULL OR s.device_id = ANY (%(devices)s::uuid[]))
"""
WHOLE = 1


class _Pieces(NamedTuple):
    """What is taken of a device, of its host beside it, and which leases are held until when."""

    device: list[Taken]
    host: list[HostTaken]
    holds: dict[UUID, int]


class Seen(NamedTuple):
    """What a look shows; `snapshot` is of the database: see `changed_since`."""

    draft: Draft
    rules: Rules
    snapshot: str


class Picture:
    """One a process. Use `look`; everything else is for it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._key: tuple[Any, ...] = ()
        self._snapshot = ""
        self._own: str | None = None
        self._looked_at = self._read_at = 0.0
        self._held: set[UUID] = set()
        self._again: set[UUID] = set()
        self._again_nodes: set[UUID] = set()
        self._cards: dict[UUID, list[Card]] = {}
        self._machines: dict[UUID, Machine] = {}
        self._pieces: dict[UUID, _Pieces] = {}
        self._rules = Rules({}, ())
        self._draft: Draft | None = None

    @contextmanager
    def look(self, *, now: datetime) -> Iterator[Seen]:
        """The fleet as the database shows it to the caller, without holds that have lapsed by `now`.

        In the system scope. What is drafted inside is undone at the end; keep nothing of it.
        """
        with self._lock:
            try:
                draft = self._refreshed(now)
            except BaseException:
                self._draft = None
                raise
            draft.settle()
            try:
                for lease_id in self._lapsed(to_instant(now)):
                    draft.remove(lease_id)
                yield Seen(draft, self._rules, self._snapshot)
            finally:
                draft.forget()

    def forget(self) -> None:
        """The next look reads everything again."""
        with self._lock:
            self._draft = None

    def _refreshed(self, now: datetime) -> Draft:
        database = connection.settings_dict
        key = (database["HOST"], str(database["PORT"]), database["NAME"])
        clock = time.monotonic()
        doubt = key != self._key or clock - self._looked_at > settings.VXPU_PICTURE_PAUSE_S
        if self._draft is None or doubt or clock - self._read_at > settings.VXPU_PICTURE_AGE_S:
            self._read_all(now)
            self._key, self._read_at = key, clock
        else:
            self._read_news(now)
        self._looked_at = clock
        if self._draft is None:
            self._draft = Draft.of(self._fleet())
        return self._draft

    def _read_all(self, now: datetime) -> None:
        self._draft = None
        with connection.cursor() as cursor:
            cursor.execute(_NOW)
            self._snapshot, self._own = cursor.fetchone()
        self._again, self._again_nodes = set(), set()
        if self._own is not None:  # what this transaction has changed may roll back: all of it is in doubt
            self._note_own()
        self._rules = read_rules()
        self._cards, self._machines = read_nodes(now=now)
        self._pieces = _read_pieces(None)
        self._held = {device_id for device_id, pieces in self._pieces.items() if pieces.holds}

    def _note_own(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT node_id, device_id FROM allocator_change WHERE txid = pg_current_xact_id_if_assigned()"
            )
            for node_id, device_id in cursor.fetchall():
                self._doubt(node_id, device_id)

    def _doubt(self, node_id: UUID | None, device_id: UUID | None) -> None:
        if device_id is not None:
            self._again.add(device_id)
        elif node_id is not None:
            self._again_nodes.add(node_id)
        else:
            self._again_nodes.update(self._machines)

    def _read_news(self, now: datetime) -> None:
        with connection.cursor() as cursor:
            told = {"last": self._snapshot, "doubtful": self._own, "oldest": self._own}
            cursor.execute(_NEWS, told)
            rows = cursor.fetchall()
        snapshot, own = rows[0][:2]
        if _is_all_new(rows, since=self._snapshot):
            self._read_all(now)
            return
        devices, nodes = self._again, self._again_nodes
        self._again, self._again_nodes = set(), set()
        for _, _, node_id, device_id, is_own in rows:
            if node_id is None:
                continue
            (nodes if device_id is None else devices).add(node_id if device_id is None else device_id)
            if is_own:
                self._doubt(node_id, device_id)
        self._snapshot, self._own = snapshot, own
        if nodes:
            self._replace_nodes(nodes, now)
        if devices:
            self._replace_pieces(devices)

    def _replace_nodes(self, nodes: Iterable[UUID], now: datetime) -> None:
        """If more than their service has changed, the fleet is laid out anew from what is in memory."""
        wanted = list(nodes)
        cards, machines = read_nodes(now=now, only=wanted)
        for node_id in wanted:
            self._cards.pop(node_id, None)
            self._machines.pop(node_id, None)
        self._cards.update(cards)
        self._machines.update(machines)
        draft, now_so = self._draft, [(machine, cards[node_id]) for node_id, machine in machines.items()]
        if draft is not None and len(now_so) == len(set(wanted)) and draft.renew(now_so):
            return
        self._rules = read_rules()
        unread = [card.device_id for found in cards.values() for card in found if card.device_id not in self._pieces]
        self._keep_pieces(unread)
        self._draft = None

    def _replace_pieces(self, devices: Iterable[UUID]) -> None:
        wanted = list(devices)
        self._keep_pieces(wanted)
        draft = self._draft
        if draft is None:
            return
        rows = set()
        for device_id in wanted:
            place = draft.layout.place_of.get(device_id)
            if place is not None:
                draft.replace(device_id, self._pieces[device_id].device)
                rows.add(place[0])
        for row in rows:
            draft.replace(draft.layout.machines[row].node_id, self._host_pieces(draft.layout.device_ids[row]))

    def _keep_pieces(self, devices: Sequence[UUID]) -> None:
        found = _read_pieces(devices)
        for device_id in devices:
            pieces = self._pieces[device_id] = found.get(device_id) or _Pieces([], [], {})
            (self._held.add if pieces.holds else self._held.discard)(device_id)

    def _host_pieces(self, devices: Sequence[UUID]) -> list[HostTaken]:
        return [piece for device_id in devices if device_id in self._pieces for piece in self._pieces[device_id].host]

    def _fleet(self) -> Fleet:
        cards, machines = [], []
        for node_id, found in self._cards.items():
            for card in found:
                taken = self._pieces[card.device_id].device if card.device_id in self._pieces else []
                cards.append(replace(card, taken=tuple(taken)))
            devices = [card.device_id for card in found]
            machines.append(replace(self._machines[node_id], taken=tuple(self._host_pieces(devices))))
        return Fleet.of(cards, machines, self._rules.sites)

    def _lapsed(self, now: int) -> list[UUID]:
        holds = (hold for device_id in self._held for hold in self._pieces[device_id].holds.items())
        return [lease_id for lease_id, until in holds if until <= now]


class Changed(NamedTuple):
    """Nodes and devices that are, or may be, another way now."""

    nodes: set[UUID]
    devices: set[UUID]


def changed_since(snapshot: str) -> Changed | None:
    """What a look of this snapshot may not have shown as it is; None is everything. Writes and locks nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWS, {"last": snapshot, "doubtful": None, "oldest": None})
        rows = cursor.fetchall()
    if _is_all_new(rows, since=snapshot):
        return None
    return Changed(
        {node_id for _, _, node_id, device_id, _ in rows if device_id is None and node_id is not None},
        {device_id for _, _, _, device_id, _ in rows if device_id is not None},
    )


def _is_all_new(rows: Sequence[tuple[Any, ...]], *, since: str) -> bool:
    """By rows of `_NEWS`: a change that names no node, or a database that has gone back."""
    return _end_of(rows[0][0]) < _end_of(since) or any(row[4] is not None and row[2] is None for row in rows)


def _end_of(snapshot: str) -> int:
    """Its xmax: the first transaction that had not begun."""
    return int(snapshot.split(":")[1])


def _read_pieces(devices: Sequence[UUID] | None) -> dict[UUID, _Pieces]:
    """By device; None is all of them."""
    found: dict[UUID, _Pieces] = defaultdict(lambda: _Pieces([], [], {}))
    if devices is not None and not devices:
        return found
    with connection.cursor() as cursor:
        cursor.execute(_PIECES, {"devices": None if devices is None else list(devices)})
        rows = cursor.fetchall()
    for row in rows:
        device_id, lease_id, starts, ends, permille, mib, mode, copy, cores, host_mib, first, last, until = row
        ends = FOREVER if ends is None else ends
        pieces = found[device_id]
        slots = None if first is None else Slots(first, last - first)
        pieces.device.append(
            Taken(
                lease_id=lease_id, starts=starts, ends=ends, permille=permille, mib=mib, whole=mode == WHOLE,
                copy_permille=copy, slots=slots,
            )
        )  # fmt: skip
        if cores or host_mib:
            pieces.host.append(HostTaken(lease_id=lease_id, starts=starts, ends=ends, cores_milli=cores, mib=host_mib))
        if until is not None:
            pieces.holds[lease_id] = until
    return found


PICTURE = Picture()
