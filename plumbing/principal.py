"""Who is asking. Views of every room read `request.user`, which is a `Principal`; only identity makes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller: a member of one tenant, or an operator (`is_operator`), or both.

    `scopes` are what the roles allow, as far as the token carries them; `project_ids` are the projects the caller is a
    member of (a tenant admin has them all). One of `token_id` and `session_id` says how the caller came in.
    """

    user_id: UUID
    tenant_id: UUID
    name: str
    roles: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    project_ids: frozenset[UUID] = field(default_factory=frozenset)
    token_id: UUID | None = None
    session_id: UUID | None = None
    is_operator: bool = False
    is_authenticated: bool = True

    def may(self, scope: str) -> bool:
        """`scope` is ``"lease:write"`` and the like; write implies read."""
        if "*" in self.scopes or scope in self.scopes:
            return True
        room, _, verb = scope.partition(":")
        return verb == "read" and f"{room}:write" in self.scopes
