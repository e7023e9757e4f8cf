"""Named transactions."""

from __future__ import annotations

from uuid import uuid4

import pytest

from plumbing import db
from plumbing.models import OutboxEvent

pytestmark = pytest.mark.usefixtures("committed_system")


@db.transaction_required
def write() -> None:
    OutboxEvent.objects.create(tenant_id=uuid4(), kind="tests.Written", payload={})


@db.transaction
def use_case(*, fail: bool = False) -> None:
    write()
    if fail:
        raise ValueError("no")


@db.transaction
def use_case_in_a_use_case() -> None:
    use_case()


def rows() -> int:
    return OutboxEvent.objects.count()


def test_a_use_case_commits_or_leaves_nothing() -> None:
    use_case()
    with pytest.raises(ValueError, match="no"):
        use_case(fail=True)
    assert rows() == 1


def test_writing_wants_a_transaction() -> None:
    with pytest.raises(db.TransactionMissing, match=r"test_db\.write"):
        write()


def test_use_cases_do_not_nest() -> None:
    with pytest.raises(RuntimeError, match="durable"):
        use_case_in_a_use_case()
    assert rows() == 0


def test_a_savepoint_fails_alone() -> None:
    def part() -> None:
        with db.savepoint():
            write()
            raise ValueError("part")

    @db.transaction
    def run() -> None:
        write()
        with pytest.raises(ValueError, match="part"):
            part()

    run()
    assert rows() == 1


def test_use_cases_join_a_door_one_after_the_other() -> None:
    with db.door():
        use_case()
        with pytest.raises(ValueError, match="no"):
            use_case(fail=True)
        use_case()
    assert rows() == 2


def test_what_a_door_refuses_takes_its_use_cases_along() -> None:
    def refuse() -> None:
        with db.door():
            use_case()
            raise KeyError("the answer could not be stored")

    with pytest.raises(KeyError):
        refuse()
    assert rows() == 0


def test_use_cases_do_not_nest_in_a_door_either() -> None:
    with pytest.raises(RuntimeError, match="durable"), db.door():
        use_case_in_a_use_case()
    assert rows() == 0
