"""The quota tree from rows: nodes, who is above whom, and what is held below a root."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from marketplace.matching.quota_tree import Amount, Held, Limit, Node, Tree
from marketplace.models import Cohort, Quota, Reservation
from marketplace.selectors import tree as tree_rows
from plumbing.rowsec import system_scope
from vxpu.slices import Period

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def needs_tree(rows: Sequence[Quota]) -> bool:
    """Of all rows of a tenant: it has a cohort, or a project of it lends less than all. Without, the nominal of each
    row is all there is."""
    return any(row.cohort_id is not None or (row.lend_permille, row.lend_mib) != (None, None) for row in rows)


def node_of(row: Quota | Cohort) -> Node:
    """A tenant's node has the tenant's id, a project's the project's."""
    cohort = isinstance(row, Cohort)
    return Node(
        id=row.pk if isinstance(row, Cohort) else row.project_id or row.tenant_id,
        parent=_parent_of(row),
        nominal=Amount(row.nominal_permille, row.nominal_mib),
        borrow=Limit(row.borrow_permille, row.borrow_mib),
        lend=Limit(row.lend_permille, row.lend_mib),
        is_cohort=cohort,
    )


def _parent_of(row: Quota | Cohort) -> UUID | None:
    if isinstance(row, Cohort):
        return row.parent_id
    return row.cohort_id if row.project_id is None else row.tenant_id


def tree_around(rows: Sequence[Quota]) -> Tree:
    """Of all rows of a tenant (its own first): everything below the root that it hangs from."""
    with system_scope():
        cohorts = below(root_of(rows[0].cohort_id), tree_rows.list_cohorts())
        others = list(tree_rows.list_quotas_of_cohorts(cohorts=[cohort.pk for cohort in cohorts]))
    nodes = [node_of(row) for row in cohorts] + [node_of(row) for row in (*others, *rows)]
    return Tree({node.id: node for node in nodes}.values())


def root_of(cohort_id: UUID | None) -> UUID | None:
    way = tree_rows.way_up(cohort_id=cohort_id)
    return way[-1].pk if way else None


def below(root: UUID | None, cohorts: Iterable[Cohort]) -> list[Cohort]:
    """The root and all cohorts under it."""
    rows = list(cohorts)
    found = [row for row in rows if row.pk == root]
    for above in found:  # grows while it is walked
        found.extend(row for row in rows if row.parent_id == above.pk)
    return found


def held_in(tree: Tree, *, period: Period, leave_out: UUID | None) -> list[Held]:
    """What every tenant of the tree holds in the period, at its project's node if it has one."""
    with system_scope():
        found = tree_rows.list_held(
            tenants=[name for name, node in tree.nodes.items() if not node.is_cohort], period=period,
            leave_out=leave_out,
        )  # fmt: skip
    return [
        _held(tree, tenant_id, project_id, starts_at, ends_at, Amount(permille, mib))
        for tenant_id, project_id, starts_at, ends_at, permille, mib in found
    ]


def given_back(tree: Tree, row: Reservation) -> Held:
    """What `held_in` says of the reservation, taken back."""
    less = Amount(-row.share_permille, -row.memory_mib)
    return _held(tree, row.tenant_id, row.project_id, row.starts_at, row.ends_at, less)


def _held(
    tree: Tree, tenant_id: UUID, project_id: UUID, starts_at: datetime, ends_at: datetime | None, amount: Amount
) -> Held:
    node = project_id if project_id in tree.nodes else tenant_id
    return Held(node, to_micros(starts_at), None if ends_at is None else to_micros(ends_at), amount)


def to_micros(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND
