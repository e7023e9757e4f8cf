"""Two at once: of two admins who remove each other one stays; of many guesses no more pass than may."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from identity.errors import TooManyAttempts
from identity.models import Member, Session
from identity.services import attempts, members, sessions
from tests.identity.factories import make_member, make_tenant
from tests.racing import race
from vxpu.ids import new_uuid


def test_two_admins_remove_each_other_and_one_stays(committed_system: str) -> None:
    ada = make_tenant()
    bo = make_member(by=ada, role="tenant_admin")
    now = datetime.now(UTC)
    roles = {member.user_id: member.pk for member in Member.objects.filter(tenant_id=ada.tenant_id)}
    calls = [(ada.principal(), roles[bo.user.pk]), (bo.principal(), roles[ada.user.pk])]
    outcomes = race(*[lambda by=by, role=role: members.remove(by=by, member_id=role, now=now) for by, role in calls])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["LastAdmin", "NoneType"]
    assert Member.objects.filter(tenant_id=ada.tenant_id).count() == 1


def test_a_hundred_guesses_at_once_are_ten(valkey: str) -> None:
    account = f"{new_uuid()}@guesses.example"

    def guess(_: int) -> bool:
        try:
            with attempts.counted(account=account, address=None):
                return True
        except TooManyAttempts:
            return False

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(guess, range(100))) == 10


def test_a_session_that_is_revoked_while_a_request_runs_is_out_for_the_next(committed_system: str) -> None:
    ada = make_tenant()
    now = datetime.now(UTC)
    opened = sessions.open_with_token(token=ada.secret, browser=sessions.Browser(None), replaces="", now=now)
    by = sessions.authenticate(secret=opened.secret, now=now)
    assert by is not None
    outcomes = race(*[lambda: sessions.end(by=by, session_id=opened.session.pk, now=now)] * 5)
    assert outcomes == [None] * 5
    assert sessions.authenticate(secret=opened.secret, now=now) is None
    assert Session.objects.filter(revoked_at__isnull=False).count() == 1
