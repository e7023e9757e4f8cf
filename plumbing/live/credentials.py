"""What a live connection rests on, and who says whether it still holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from plumbing.principal import Principal


class Credential(BaseModel):
    """The token or the session with which a ticket was asked for."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["token", "session"]
    id: UUID
    user_id: UUID

    @classmethod
    def of(cls, principal: Principal) -> Credential | None:
        """None for a caller with neither."""
        if principal.session_id is not None:
            return cls(kind="session", id=principal.session_id, user_id=principal.user_id)
        if principal.token_id is not None:
            return cls(kind="token", id=principal.token_id, user_id=principal.user_id)
        return None


# Runs in the system scope. Who is missing in the answer is out: revoked, expired, or the user is not active.
FindPrincipals = Callable[[Collection[Credential]], Mapping[Credential, Principal]]
