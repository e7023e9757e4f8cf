"""Personal tokens: made, used, revoked."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from identity import selectors
from identity.errors import BadExpiry, ScopeTooWide
from identity.models import Token
from identity.services import audit
from plumbing import db
from plumbing.live.publish import look_again
from plumbing.principal import Principal

PREFIX = "vxp_pat_"
HINT_LENGTH = len(PREFIX) + 6
SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(days=366)
USED_RESOLUTION = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NewToken:
    """`secret` is shown this once and kept nowhere."""

    token: Token
    secret: str


def digest_of(secret: str) -> bytes:
    """What the database knows of a token."""
    return hashlib.sha256(secret.encode()).digest()


def authenticate(*, secret: str, now: datetime) -> Principal | None:
    """Who holds the token, by one indexed query; None if it is unknown, expired, revoked or its user inactive.

    Notes the use at most once a minute. Wants the system scope: the tenant is not known before.
    """
    if not secret.startswith(PREFIX):
        return None
    found = selectors.find_bearer(digest=digest_of(secret), now=now)
    if found is None:
        return None
    if found.last_used_at is None or now - found.last_used_at >= USED_RESOLUTION:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - USED_RESOLUTION)
        Token.objects.filter(stale, pk=found.token_id).update(last_used_at=now)
    return found.principal


@db.transaction_required
def issue(
    *, tenant_id: UUID, user_id: UUID, name: str, scopes: Iterable[str], expires_at: datetime, now: datetime,
    actor_id: UUID | None,
) -> NewToken:  # fmt: skip
    """A new token for `user_id`; the caller has checked that `scopes` are his to give. Raises BadExpiry."""
    if not SHORTEST <= expires_at - now <= LONGEST:
        raise BadExpiry(f"It would live {expires_at - now}.", suggestion="Choose a time within a year from now.")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token.objects.create(
        tenant_id=tenant_id, user_id=user_id, name=name, digest=digest_of(secret), hint=secret[:HINT_LENGTH],
        scopes=sorted(set(scopes)), expires_at=expires_at, created_at=now,
    )  # fmt: skip
    audit.record(
        tenant_id=tenant_id, actor_id=actor_id, action="token.created", subject=str(token.pk), now=now,
        data={"name": name, "scopes": token.scopes, "user": str(user_id)},
    )  # fmt: skip
    return NewToken(token=token, secret=secret)


@db.transaction
def create(
    *, by: Principal, user_id: UUID | None, name: str, scopes: Iterable[str], expires_at: datetime, now: datetime
) -> NewToken:
    """A token for the caller, or by a tenant admin for a user of the tenant.

    Raises ScopeTooWide for a scope that the caller lacks, BadExpiry, NotFound for a user of another tenant.
    """
    wanted = set(scopes)
    too_wide = sorted(scope for scope in wanted if not by.may(scope))
    owner = selectors.get_user(tenant_id=by.tenant_id, user_id=user_id or by.user_id)
    if owner.pk != by.user_id and not (by.is_operator or "tenant_admin" in by.roles):
        raise ScopeTooWide("Only a tenant admin makes tokens for others.", suggestion="Leave `user` out.")
    if too_wide:
        raise ScopeTooWide(f"You do not hold: {', '.join(too_wide)}.", suggestion="Ask for fewer scopes.")
    return issue(
        tenant_id=by.tenant_id, user_id=owner.pk, name=name, scopes=wanted, expires_at=expires_at, now=now,
        actor_id=by.user_id,
    )  # fmt: skip


@db.transaction
def revoke(*, by: Principal, token_id: UUID, now: datetime) -> None:
    """The token stops working at once. Idempotent. Raises NotFound for a token that the caller may not see."""
    token = selectors.list_tokens(by=by).filter(pk=token_id).first()
    if token is None:
        raise selectors.no_such("token")
    if Token.objects.filter(pk=token_id, revoked_at__isnull=True).update(revoked_at=now):
        audit.record(
            tenant_id=token.tenant_id, actor_id=by.user_id, action="token.revoked", subject=str(token_id), now=now
        )
        look_again(user_id=token.user_id)
