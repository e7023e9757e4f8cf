"""People, and the first operator."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from identity.errors import EmailTaken
from identity.models import User
from plumbing import db


@db.transaction_required
def add_user(
    *, tenant_id: UUID, email: str, name: str, now: datetime, password: str | None = None, is_operator: bool = False
) -> User:
    """A user without a log-in unless a password is given. Addresses are unique without regard to case: EmailTaken."""
    user = User(
        tenant_id=tenant_id, email=User.objects.normalize_email(email), name=name, created_at=now,
        is_operator=is_operator,
    )  # fmt: skip
    user.set_password(password)
    try:
        with db.savepoint():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise EmailTaken(f"{email} is in use.", suggestion="Use another address.") from error
    return user
