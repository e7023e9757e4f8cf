"""How well the devices of a node are linked, and which of the free ones belong together.

The score of a pair is go-gpuallocator's (NVIDIA, `gpuallocator/besteffort_policy.go`): 10 across CPUs, 20 on one CPU,
30 one host bridge, 40 several switches, 50 one switch, 60 one board, and 100 more for each NVLink, up to 18. Links that
go through an NVSwitch count like direct ones. A pair of which nothing is known has 10: any two devices of a node reach
each other across its CPUs.

A group is scored by the sum of its pairs. As there, all the free devices are divided into groups of the wished size,
the division with the highest sum is the best, and its best group is taken: what is left stays well linked too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple
from uuid import UUID

from allocator.engine.fleet import Link

PCIE = {"system": 10, "numa_node": 20, "host_bridge": 30, "switches": 40, "switch": 50, "board": 60}
UNKNOWN = PCIE["system"]
NVLINK = 100
MAX_NVLINKS = 18
# Looks before the best division found so far is taken. Up to 10 devices never need so many, whatever their links.
LOOKS = 5_000


def pair_score(nvlinks: int | None, pcie: str | None) -> int:
    """Of two devices; what is not known adds nothing beyond the least that any pair has."""
    return PCIE.get(pcie or "", UNKNOWN) + NVLINK * min(nvlinks or 0, MAX_NVLINKS)


def links_of(told: Mapping[tuple[UUID, UUID], int]) -> tuple[Link, ...]:
    """Pairs as each side told them, as links in order; where the two sides differ, the lower holds."""
    scores: dict[tuple[UUID, UUID], int] = {}
    for (one, other), score in told.items():
        pair = (min(one, other), max(one, other))
        scores[pair] = min(score, scores.get(pair, score))
    return tuple(Link(one, other, score) for (one, other), score in sorted(scores.items()))


@dataclass(frozen=True, slots=True)
class Links:
    """A node's pairs as a symmetric matrix by column; nodes that are wired alike have an equal one."""

    scores: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, device_ids: Sequence[UUID], links: Iterable[Link]) -> Links:
        known = {(link.one, link.other): link.score for link in links}
        return cls(
            tuple(
                tuple(
                    0 if one == other else known.get((one, other), known.get((other, one), UNKNOWN))
                    for other in device_ids
                )
                for one in device_ids
            )
        )

    def inner(self, group: Sequence[int]) -> int:
        """The sum over the pairs of a group of columns."""
        return sum(self.scores[one][other] for one, other in combinations(group, 2))

    def to_others(self, column: int, free: Iterable[int]) -> int:
        """How well a device is linked to the free ones."""
        return sum(self.scores[column][other] for other in free if other != column)


class Group(NamedTuple):
    """`inner` is the group's own score, `total` that of the division that it belongs to."""

    columns: tuple[int, ...]
    inner: int
    total: int


@lru_cache(maxsize=1 << 15)
def best_group(links: Links, free: tuple[int, ...], size: int) -> Group | None:
    """Of the best division of the free columns into groups of `size`: its best group, of equals the first.

    One device alone: the worst-linked, of equals the first. None: there are too few.
    """
    if not 1 <= size <= len(free):
        return None
    if size == 1:
        column = min(free, key=lambda one: (links.to_others(one, free), one))
        return Group((column,), 0, links.inner([one for one in free if one != column]))
    groups = _Division(links, free, size).best
    chosen = max(groups, key=lambda group: (links.inner(group), [-column for column in group]))
    return Group(chosen, links.inner(chosen), sum(links.inner(group) for group in groups))


class _Division:
    """Branch and bound over the divisions of the free devices: good groups first, cut where even the best links of
    every device left could not win."""

    def __init__(self, links: Links, free: Sequence[int], size: int) -> None:
        self._links, self._size, self._looks = links, size, LOOKS
        self.best: tuple[tuple[int, ...], ...] = ()
        self._best_total = -1
        self._extend(tuple(free), (), 0)

    def _extend(self, free: tuple[int, ...], groups: tuple[tuple[int, ...], ...], total: int) -> None:
        if len(free) < self._size:
            if total > self._best_total:
                self.best, self._best_total = groups, total
            return
        first, rest = free[0], free[1:]
        ways = sorted(
            ((self._links.inner((first, *others)), (first, *others)) for others in combinations(rest, self._size - 1)),
            key=lambda way: (-way[0], way[1]),
        )
        for inner, group in ways:
            left = tuple(column for column in rest if column not in group)
            if self._is_hopeless(left, total + inner):
                continue
            self._extend(left, (*groups, group), total + inner)
        if len(free) % self._size and not self._is_hopeless(rest, total):  # one that belongs to no group
            self._extend(rest, groups, total)

    def _is_hopeless(self, left: tuple[int, ...], total: int) -> bool:
        self._looks -= 1
        if self._looks <= 0 and self.best:
            return True
        return total + self._bound(left) <= self._best_total

    def _bound(self, left: Sequence[int]) -> int:
        """No more than half of the `size - 1` best links of as many devices as can be in groups."""
        scores = self._links.scores
        ends = sorted(
            (
                sum(sorted((scores[one][other] for other in left if other != one), reverse=True)[: self._size - 1])
                for one in left
            ),
            reverse=True,
        )
        return sum(ends[: len(left) // self._size * self._size]) // 2


class TopologyError(ValueError):
    """What is wrong with a topology document; every problem names its entry."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def read_topology(document: object, *, devices: Mapping[str, Sequence[str]]) -> dict[str, dict[tuple[str, str], int]]:
    """Pair scores by node, both named as in `devices` (node -> its devices). Raises TopologyError.

    The document: {"nodes": {node: {"links": [{"between": [a, b], "nvlinks": 4, "pcie": "switch"}, ...],
    "switch": {a: 18, ...}}}}. `nvlinks` (0) and `pcie` (one of PCIE) may be left out, but not both; two devices that
    both hang on the switch have as many NVLinks as the one with fewer. Each pair of a node's devices must be told once,
    or twice alike; nodes that are not in the document are not told of.
    """
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, dict):
        raise TopologyError(['the document is not {"nodes": {...}}'])
    problems: list[str] = []
    found = {}
    for node, entry in nodes.items():
        if node not in devices:
            problems.append(f"node {node!r}: not in this fleet")
        elif not isinstance(entry, dict) or not isinstance(entry.get("links", []), list):
            problems.append(f"node {node!r}: not {{'links': [...]}}")
        else:
            found[node] = _Node(node, entry, devices[node], problems).read()
    if problems:
        raise TopologyError(problems)
    return found


class _Node:
    def __init__(self, node: str, entry: Mapping[str, object], devices: Sequence[str], problems: list[str]) -> None:
        self._node, self._entry, self._devices, self._problems = node, entry, devices, problems
        self._told: dict[tuple[str, str], tuple[int, str | None]] = {}

    def read(self) -> dict[tuple[str, str], int]:
        links = self._entry.get("links", [])
        for number, link in enumerate(links if isinstance(links, list) else []):
            self._read_link(f"node {self._node!r}, link {number + 1}", link)
        switch = self._read_switch()
        scores = {}
        for one, other in combinations(sorted(self._devices), 2):
            on_switch = min(switch.get(one, 0), switch.get(other, 0))
            told = self._told.get((one, other))
            if told is None and not on_switch:
                self._problems.append(f"node {self._node!r}: nothing is told of {one!r} and {other!r}")
                continue
            nvlinks, pcie = told or (0, None)
            scores[one, other] = pair_score(max(nvlinks, on_switch), pcie)
        return scores

    def _read_link(self, where: str, link: object) -> None:
        between = link.get("between") if isinstance(link, dict) else None
        if not isinstance(link, dict) or not isinstance(between, list) or len(between) != 2:
            self._problems.append(f"{where}: not {{'between': [one, other], ...}}")
            return
        unknown = [name for name in between if name not in self._devices]
        nvlinks, pcie = link.get("nvlinks", 0), link.get("pcie")
        if unknown:
            self._problems.append(f"{where}: no device {unknown[0]!r} on this node")
        elif between[0] == between[1]:
            self._problems.append(f"{where}: {between[0]!r} is linked to itself")
        elif not _is_count(nvlinks):
            self._problems.append(f"{where}: nvlinks {nvlinks!r} is not a number from 0 to {MAX_NVLINKS}")
        elif not (pcie is None and "nvlinks" in link) and (not isinstance(pcie, str) or pcie not in PCIE):
            self._problems.append(f"{where}: pcie {pcie!r} is none of {', '.join(PCIE)}")
        else:
            self._note(where, (min(between), max(between)), (nvlinks, pcie))

    def _note(self, where: str, pair: tuple[str, str], told: tuple[int, str | None]) -> None:
        before = self._told.setdefault(pair, told)
        if before != told:
            self._problems.append(f"{where}: {pair[0]!r} and {pair[1]!r} were told of before, and otherwise")

    def _read_switch(self) -> dict[str, int]:
        switch = self._entry.get("switch", {})
        if not isinstance(switch, dict):
            self._problems.append(f"node {self._node!r}: switch is not {{device: links}}")
            return {}
        for device, count in switch.items():
            if device not in self._devices:
                self._problems.append(f"node {self._node!r}, switch: no device {device!r} on this node")
            elif not _is_count(count):
                self._problems.append(f"node {self._node!r}, switch: {count!r} links of {device!r}")
        return {device: count for device, count in switch.items() if _is_count(count)}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NVLINKS
