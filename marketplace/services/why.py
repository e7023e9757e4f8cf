"""Why a reservation is where it is: the score that chose its device, in words for its tenant, without money."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from marketplace import selectors
from marketplace.errors import NotPlacedYet
from marketplace.models import EVERYWHERE, Placement, Reach

POLICIES = {
    "binpack": "Fullest device first, so that whole devices stay free.",
    "spread": "Emptiest device first, so that neighbours disturb each other least.",
    "fragmentation": "What is left should stay useful for what is usually asked.",
    "topology": "Well-linked devices stay together for those who need several.",
    "carbon": "Where the same work makes least CO2.",
}
# What a term says; a higher one is better, and the terms add up to the score.
TERMS = {
    "compute_used": "how full the device's compute is with your slice on it",
    "memory_used": "how full the device's memory is with your slice on it",
    "compute_free": "how much compute stays free beside your slice",
    "memory_free": "how much memory stays free beside your slice",
    "value_kept": "how much of what others usually ask for could no longer be placed there (less is better)",
    "cores_stranded": "how much of the node's devices would be left without processor cores (less is better)",
    "group_broken": "whether a group of free devices as large as others ask for is broken (better not)",
    "larger_node": "whether cores alone sit on a larger node than need be (better not)",
    "tight": "how much of the device stays open beside your slice (less is better)",
    "rounded": "near-equal places count as equal; this is the difference",
    "scarce_model": "how much others need this very model, because no other would do (less is better)",
    "links": "how well the devices are linked, and how many good links are taken from others",
    "used": "how full the place is; decides between equals",
    "carbon": "grams of CO2 an hour, in tenths (less is better)",
    "carbon_assumed": "grams of CO2 an hour, in tenths, where the site does not tell and the usual is assumed",
    "latency": "how far it is from {near}, which you want to be near: points for each millisecond (nearer is better)",
    "health": "how well the device is",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    name: str
    value: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """`policy` is empty for a place that no score chose (a move, or one from before scores were kept)."""

    placement: Placement
    policy: str
    policy_text: str
    score: int | None
    terms: tuple[Term, ...]
    fitted: int | None
    runner_up: int | None
    text: str


def why_here(*, reservation_id: UUID, reach: Reach = EVERYWHERE) -> Why:
    """Of the place that it has now, or had last. Raises NotFound, NotPlacedYet."""
    row = selectors.get_reservation(reservation_id=reservation_id, reach=reach)
    placed = list(selectors.placements_of(reservations=[row.pk]))
    if not placed:
        raise NotPlacedYet(
            f"It waits for: {row.waits_for or 'its turn'}.", suggestion="Its place in line is in the reservation."
        )
    return _why(placed[-1], near=row.near)


def _why(placement: Placement, *, near: str) -> Why:
    why = placement.why or {}
    texts = {**TERMS, "latency": TERMS["latency"].format(near=near)}
    terms = tuple(
        Term(name=name, value=value, text=texts.get(name, name)) for name, value in (why.get("terms") or {}).items()
    )
    return Why(
        placement=placement,
        policy=why.get("policy", ""),
        policy_text=POLICIES.get(why.get("policy", ""), ""),
        score=why.get("score"),
        terms=terms,
        fitted=why.get("fitted"),
        runner_up=why.get("runner_up"),
        text=_sentence(why.get("fitted"), why.get("score"), why.get("runner_up")),
    )


def _sentence(fitted: int | None, score: int | None, runner_up: int | None) -> str:
    if fitted is None or score is None:
        return "This place was not chosen by a score: the work was moved here, or it was named."
    if fitted == 1:
        return "It was the only place that fitted."
    if runner_up is None:
        return f"{fitted} places fitted; this one had {score} points."
    if runner_up == score:
        return f"{fitted} places fitted; several had {score} points, and the first of them was taken."
    return f"{fitted} places fitted; this one had {score} points, the next best {runner_up}."
