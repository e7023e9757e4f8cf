"""Passwords: checked at the same cost whoever is asked for, changed by their owner."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, check_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from identity import locks, selectors
from identity.errors import ScopeTooWide, WeakPassword, WrongPassword
from identity.models import Session, User
from identity.services import attempts, audit
from plumbing import db
from plumbing.live.publish import look_again
from plumbing.principal import Principal

LONGEST = 1024


def prepared(raw: str) -> str:
    """One form for what is typed on different keyboards: "é" may arrive as one character or as two (NIST 800-63B)."""
    return unicodedata.normalize("NFKC", raw)


def is_right(user: User | None, raw: str) -> bool:
    """Whether the password is the user's. Costs one hash for everyone: unknown, without a password, or inactive."""
    encoded = user.password if user is not None else UNUSABLE_PASSWORD_PREFIX
    return check_password(prepared(raw), encoded) and user is not None and user.is_active


def check_strength(user: User, raw: str) -> None:
    """Raises WeakPassword with every reason."""
    try:
        validate_password(prepared(raw), user)
    except ValidationError as error:
        raise WeakPassword(
            " ".join(error.messages), suggestion="Take a longer one; four unusual words do well."
        ) from error


def change(*, by: Principal, current: str | None, new: str, now: datetime) -> None:
    """Set the caller's password and end the other sessions; tokens stay as they are.

    `current` may be left out for the first password only, by a caller who holds all that the roles allow: a password
    opens sessions that may do all of it. Raises WrongPassword, WeakPassword, ScopeTooWide, TooManyAttempts.
    """
    user = selectors.get_user(tenant_id=by.tenant_id, user_id=by.user_id)
    if user.has_usable_password():
        with attempts.counted(account=user.email, address=None) as attempt:
            if not is_right(user, current or ""):
                raise WrongPassword(
                    "`current` is not your password.", suggestion="Type the password that you log in with now."
                )
            attempt.succeeded()
    else:
        missing = sorted(selectors.scopes_of(roles=by.roles, is_operator=by.is_operator) - by.scopes)
        if missing:
            raise ScopeTooWide(
                f"A first password gives more than your token: {', '.join(missing)}.",
                suggestion="Use a token with all of your scopes.",
            )
    check_strength(user, new)
    _store(by=by, seen=user.password, encoded=_encoded(new), now=now)


def _encoded(raw: str) -> str:
    user = User()
    user.set_password(prepared(raw))
    return user.password


@db.transaction
def _store(*, by: Principal, seen: str, encoded: str, now: datetime) -> None:
    """Guarded by the hash that was checked: of two changes at once, one wins."""
    user = locks.lock_user(user_id=by.user_id)
    if user.password != seen:
        raise WrongPassword("It was changed a moment ago.", suggestion="Start again with the password that holds now.")
    user.password = encoded
    user.save(update_fields=["password"])
    others = Session.objects.filter(user_id=by.user_id, revoked_at__isnull=True)
    if by.session_id is not None:
        others = others.exclude(pk=by.session_id)
    ended = others.update(revoked_at=now)
    audit.record(
        tenant_id=by.tenant_id, actor_id=by.user_id, action="password.changed", subject=str(by.user_id), now=now,
        data={"sessions_ended": ended},
    )  # fmt: skip
    look_again(user_id=by.user_id)
