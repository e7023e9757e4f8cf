"""Members: who may do what, where."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError

from identity import locks, selectors
from identity.errors import AlreadyMember, EmailTaken, LastAdmin, RoleMisplaced
from identity.models import Member, Project, Role, User
from identity.models.member import ROLE_SCOPES
from identity.services import audit, tokens, users
from identity.services.tenants import FIRST_TOKEN_LIFE
from plumbing import db
from plumbing.live.publish import look_again
from plumbing.principal import Principal


@dataclass(frozen=True, slots=True)
class NewMember:
    """`first_token.secret` is shown this once; None for a user who was there before."""

    member: Member
    first_token: tokens.NewToken | None


@db.transaction
def add(*, by: Principal, email: str, name: str, role: str, project_id: UUID | None, now: datetime) -> NewMember:
    """Give a role to the user with this address, who is made if the tenant has none.

    A new user gets a first token with what the role allows and `by` may give.
    Raises RoleMisplaced, NotFound (project), AlreadyMember, EmailTaken (the address is another tenant's user).
    """
    if (role == Role.MEMBER) != (project_id is not None):
        raise RoleMisplaced(
            f"Role {role} {'needs' if role == Role.MEMBER else 'takes no'} project.",
            suggestion="Name a project for members only.",
        )
    project = selectors.get_project(tenant_id=by.tenant_id, project_id=project_id) if project_id else None
    user = selectors.find_user_by_email(email=email)
    is_new = user is None
    if user is None:
        user = users.add_user(tenant_id=by.tenant_id, email=email, name=name, now=now)
    elif user.tenant_id != by.tenant_id:  # seen in the system scope only
        raise EmailTaken(f"{email} is in use.", suggestion="Use another address.")
    member = _join(by=by, user=user, role=role, project=project, now=now)
    return NewMember(member=member, first_token=_first_token(by=by, user=user, role=role, now=now) if is_new else None)


def _join(*, by: Principal, user: User, role: str, project: Project | None, now: datetime) -> Member:
    try:
        with db.savepoint():
            member = Member.objects.create(
                tenant_id=by.tenant_id, user=user, project=project, role=role, created_at=now
            )
    except IntegrityError as error:
        raise AlreadyMember(f"{user.email} is {role} there.", suggestion="Nothing is left to do.") from error
    audit.record(
        tenant_id=by.tenant_id, actor_id=by.user_id, action="member.added", subject=str(member.pk), now=now,
        data={"user": str(user.pk), "role": role, "project": str(project.pk) if project else None},
    )  # fmt: skip
    return member


def _first_token(*, by: Principal, user: User, role: str, now: datetime) -> tokens.NewToken | None:
    scopes = {scope for scope in ROLE_SCOPES[role] if by.may(scope)}
    if not scopes:
        return None
    return tokens.issue(
        tenant_id=by.tenant_id, user_id=user.pk, name="first token", scopes=scopes, expires_at=now + FIRST_TOKEN_LIFE,
        now=now, actor_id=by.user_id,
    )  # fmt: skip


@db.transaction
def remove(*, by: Principal, member_id: UUID, now: datetime) -> None:
    """Take a role away; the user stays, with what is left. Raises NotFound, LastAdmin."""
    member = selectors.list_members(tenant_id=by.tenant_id).filter(pk=member_id).first()
    if member is None:
        raise selectors.no_such("member")
    if member.role == Role.TENANT_ADMIN:
        active = locks.lock_admins(tenant_id=by.tenant_id).filter(user__is_active=True)
        if not [admin for admin in active if admin.pk != member_id]:
            raise LastAdmin(
                f"{member.user.email} is the only admin.", suggestion="Make someone else a tenant admin first."
            )
    if not Member.objects.filter(pk=member_id).delete()[0]:  # someone was quicker
        raise selectors.no_such("member")
    audit.record(
        tenant_id=by.tenant_id, actor_id=by.user_id, action="member.removed", subject=str(member_id), now=now,
        data={"user": str(member.user_id), "role": member.role,
              "project": str(member.project_id) if member.project_id else None},
    )  # fmt: skip
    look_again(user_id=member.user_id)
