"""Which policy fills which pool, with what it has learned; where a wish may name another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from django.conf import settings

from allocator.engine.draft import Draft
from allocator.engine.fleet import Ask, Site
from allocator.engine.lessons import Lessons
from allocator.engine.policies import POLICIES
from allocator.engine.policies.base import Policy
from allocator.engine.policies.fragmentation import Fragmentation
from allocator.errors import PolicyNotAllowed
from allocator.models import Pool, PoolLessons
from allocator.models import Site as SiteRow
from plumbing.errors import Invalid
from vxpu.market import Wish

UNNAMED = ""
LEARNER = "fragmentation"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRule:
    """How a pool is filled. `learner` is the one policy of what it has learned, for every wish: searches for many
    wishes at once keep scores by it."""

    name: str
    policy: str
    may_override: bool
    learner: Policy
    version: int = 0
    room_moves: int | None = None
    moves_per_tenant_day: int | None = None

    def most_moves(self) -> int:
        """For one wish that waits; 0 is none."""
        return settings.VXPU_ROOM_MOVES if self.room_moves is None else self.room_moves

    def most_a_day(self) -> int:
        """Moves of one tenant's leases in 24 hours."""
        most = self.moves_per_tenant_day
        return settings.VXPU_MOVES_PER_TENANT_DAY if most is None else most

    def allows(self, policy: str | None) -> bool:
        return policy is None or self.may_override or policy == self.policy

    def policy_for(self, asked: str | None) -> Policy:
        """Raises Invalid for a policy that there is not."""
        name = asked or self.policy
        if name == LEARNER:
            return self.learner
        try:
            return POLICIES[name]
        except KeyError as error:
            known = ", ".join(sorted(POLICIES))
            raise Invalid(f"There is no policy {name!r}.", suggestion=f"One of: {known}.") from error


@dataclass(frozen=True, slots=True)
class Rules:
    """Of every pool by name, the unnamed too; and the sites, as the engine knows them."""

    pools: Mapping[str, PoolRule]
    sites: tuple[Site, ...]


def read_rules() -> Rules:
    """In the system scope."""
    learned = {row.pool: row for row in PoolLessons.objects.all()}
    pools = {
        row.name: _rule(
            row.name, row.policy, learned, may_override=row.may_override, room_moves=row.room_moves,
            moves_per_tenant_day=row.moves_per_tenant_day,
        )
        for row in Pool.objects.all()
    }  # fmt: skip
    may_override = settings.VXPU_POLICY_OVERRIDE
    pools[UNNAMED] = _rule(UNNAMED, settings.VXPU_POLICY, learned, may_override=may_override)
    return Rules(pools, tuple(site_of(row) for row in SiteRow.objects.order_by("name")))


def site_of(row: SiteRow) -> Site:
    """As the engine knows it."""
    return Site(
        name=row.name,
        pue_permille=row.pue_permille,
        carbon_g_per_kwh=row.carbon_g_per_kwh,
        latency_ms={name: int(ms) for name, ms in row.latency_ms.items()},
    )


def _rule(
    name: str, policy: str, learned: Mapping[str, PoolLessons], *, may_override: bool, **limits: int | None
) -> PoolRule:
    row = learned.get(name)
    lessons = Lessons() if row is None else lessons_of(row.lessons)
    return PoolRule(
        name=name,
        policy=policy,
        may_override=may_override,
        learner=Fragmentation(lessons),
        version=0 if row is None else row.version,
        **limits,
    )


def lessons_of(values: Mapping[str, object]) -> Lessons:
    """From plain values; the reverse is `values_of`."""
    return Lessons(**{**values, "values": tuple(values["values"])})  # type: ignore[arg-type]


def values_of(lessons: Lessons) -> dict[str, object]:
    """JSON types only."""
    return {
        "values": list(lessons.values),
        "cores_per_device": lessons.cores_per_device,
        "scarcity": dict(lessons.scarcity),
        "spare_up_to": lessons.spare_up_to,
        "largest": lessons.largest,
    }


def parts_of(draft: Draft, ask: Ask, wish: Wish, rules: Rules) -> Iterator[tuple[Ask, PoolRule]]:
    """The ask for each pool that may take it, in the order of names, nodes without a pool first. Scores of two policies
    cannot be compared: so a pool is filled before the next one. Raises Invalid, PolicyNotAllowed for a named pool."""
    if wish.pool is not None:
        rule = rules.pools.get(wish.pool)
        if rule is None:
            raise Invalid(f"There is no pool {wish.pool!r}.", suggestion=_known(rules.pools))
        if not rule.allows(wish.policy):
            raise PolicyNotAllowed(
                f"The pool {rule.name!r} is filled by {rule.policy}.",
                suggestion="Leave `policy` out, or name that one.",
            )
    present = _present(draft)
    pools = [rules.pools[name] for name in present if name in rules.pools and wish.pool in (None, name)]
    for rule in pools:
        if rule.allows(wish.policy):
            yield (replace(ask, pool=rule.name) if len(present) > 1 else ask), rule


def check_policy(draft: Draft, wish: Wish, rules: Rules) -> None:
    """Of a wish that nothing takes. Raises PolicyNotAllowed when that is for its policy, whatever comes free."""
    found = [rules.pools[name] for name in _present(draft) if name in rules.pools]
    if found and not any(rule.allows(wish.policy) for rule in found):
        raise PolicyNotAllowed(
            f"No pool is filled by {wish.policy}, or lets a wish choose.", suggestion="Leave `policy` out."
        )


def _present(draft: Draft) -> list[str]:
    layout = draft.layout
    return layout.keep("pools", lambda: sorted({machine.pool for machine in layout.machines}))


def _known(names: Iterable[str]) -> str:
    known = ", ".join(sorted(name for name in names if name))
    return f"One of: {known}." if known else "There are none: leave it out."
