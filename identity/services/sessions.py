"""Sessions: a browser logs in with a password or a token, and is out when it says so, is told so, or time is up."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from identity import locks, selectors
from identity.errors import WrongLogin
from identity.models import Session, Tenant, User
from identity.services import attempts, audit, passwords, tokens
from plumbing import db
from plumbing.live.publish import look_again
from plumbing.principal import Principal

PREFIX = "vxs_"
KEPT = timedelta(days=30)
CLIENT_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Browser:
    """Where a log-in comes from, as far as it can be known."""

    address: str | None
    client: str = ""


@dataclass(frozen=True, slots=True)
class NewSession:
    """`secret` goes into the cookie and is kept nowhere."""

    session: Session
    user: User
    secret: str


def digest_of(secret: str) -> bytes:
    """What the database knows of a session."""
    return hashlib.sha256(secret.encode()).digest()


def authenticate(*, secret: str, now: datetime) -> Principal | None:
    """Whose session it is; None if it is unknown, over, its user inactive or its token dead. Wants the system scope."""
    if not secret.startswith(PREFIX):
        return None
    return selectors.find_session_principal(now=now, digest=digest_of(secret))


def open_with_password(*, email: str, password: str, browser: Browser, replaces: str, now: datetime) -> NewSession:
    """Log in. Raises WrongLogin, TooManyAttempts; the answer and its cost do not tell whether the user exists.

    `replaces` is the secret of the session that the browser had, if any: it ends. Wants the system scope.
    """
    with attempts.counted(account=email, address=browser.address) as attempt:
        user = selectors.find_user_by_email(email=email)
        if not passwords.is_right(user, password) or user is None:
            _note_refusal(user=user, browser=browser, now=now)
            raise _wrong("Address and password do not belong together.")
        attempt.succeeded()
    return _open(user=user, token_id=None, until=None, browser=browser, replaces=replaces, now=now)


def open_with_token(*, token: str, browser: Browser, replaces: str, now: datetime) -> NewSession:
    """Log in with a personal token; the session ends with it at the latest. Raises as `open_with_password`."""
    with attempts.counted(account=token, address=browser.address) as attempt:
        found = selectors.find_bearer(digest=tokens.digest_of(token), now=now)
        if found is None:
            _note_refusal(user=None, browser=browser, now=now)
            raise _wrong("The token is unknown, expired or revoked.")
        attempt.succeeded()
    user = selectors.get_user(tenant_id=found.principal.tenant_id, user_id=found.principal.user_id)
    return _open(
        user=user, token_id=found.token_id, until=found.expires_at, browser=browser, replaces=replaces, now=now
    )


def _wrong(detail: str) -> WrongLogin:
    return WrongLogin(detail, suggestion="Check what you typed; a tenant admin can make you a new token.")


@db.transaction
def _note_refusal(*, user: User | None, browser: Browser, now: datetime) -> None:
    """In the tenant's log; for an unknown user in the operator's, without what was typed: it may be a password."""
    tenant_id = user.tenant_id if user is not None else settings.VXPU_OPERATOR_TENANT
    if user is None and not Tenant.objects.filter(pk=tenant_id).exists():
        return
    audit.record(
        tenant_id=tenant_id, actor_id=None, action="session.refused", now=now,
        subject=str(user.pk) if user is not None else "unknown user", data={"address": browser.address},
    )  # fmt: skip


@db.transaction
def _open(
    *, user: User, token_id: UUID | None, until: datetime | None, browser: Browser, replaces: str, now: datetime
) -> NewSession:
    held = locks.lock_user(user_id=user.pk)
    if not held.is_active or held.password != user.password:
        raise _wrong("The log-in was changed a moment ago.")
    Session.objects.filter(user=user, expires_at__lte=now - KEPT).delete()
    if replaces:
        Session.objects.filter(digest=digest_of(replaces), revoked_at__isnull=True).update(revoked_at=now)
        look_again(user_id=user.pk)
    secret = PREFIX + secrets.token_urlsafe(32)
    ends = now + timedelta(seconds=settings.VXPU_SESSION_S)
    session = Session.objects.create(
        tenant_id=user.tenant_id, user=user, token_id=token_id, digest=digest_of(secret), created_at=now,
        expires_at=min(ends, until) if until else ends, address=browser.address, client=browser.client[:CLIENT_LENGTH],
    )  # fmt: skip
    User.objects.filter(pk=user.pk).update(last_login=now)
    audit.record(
        tenant_id=user.tenant_id, actor_id=user.pk, action="session.opened", subject=str(session.pk), now=now,
        data={"address": browser.address, "token": str(token_id) if token_id else None},
    )  # fmt: skip
    return NewSession(session=session, user=user, secret=secret)


@db.transaction
def end(*, by: Principal, session_id: UUID, now: datetime) -> None:
    """The caller's session is over at once. Safe to repeat. Raises NotFound for one that is not the caller's."""
    session = selectors.list_sessions(by=by).filter(pk=session_id).first()
    if session is None:
        raise selectors.no_such("session")
    _end(session, by=by, now=now)


@db.transaction
def end_current(*, by: Principal, now: datetime) -> None:
    """Log out. Raises NotFound for a caller who came with a token."""
    _end(selectors.get_current_session(by=by), by=by, now=now)


def _end(session: Session, *, by: Principal, now: datetime) -> None:
    if Session.objects.filter(pk=session.pk, revoked_at__isnull=True).update(revoked_at=now):
        audit.record(
            tenant_id=session.tenant_id, actor_id=by.user_id, action="session.ended", subject=str(session.pk), now=now,
            data={"own": session.pk == by.session_id},
        )  # fmt: skip
        look_again(user_id=session.user_id)
