"""What can go wrong with people and what they belong to."""

from __future__ import annotations

from plumbing.errors import Conflict, DomainError, Forbidden, Invalid


class SlugTaken(Conflict):
    code = "slug_taken"
    title = "This slug is in use."


class EmailTaken(Conflict):
    code = "email_taken"
    title = "A user with this e-mail address exists."


class AlreadyMember(Conflict):
    code = "already_member"
    title = "The user has this role there already."


class RoleMisplaced(Invalid):
    code = "role_misplaced"
    title = "Members belong to a project; tenant admins and finance to the whole tenant."


class ScopeTooWide(Forbidden):
    code = "scope_too_wide"
    title = "A token cannot do more than the one who makes it."


class BadExpiry(Invalid):
    code = "bad_expiry"
    title = "A token lives between a minute and a year."


class AuditChainBroken(DomainError):
    """A row of the audit log does not fit the one before: it was changed, removed or added by hand."""

    code = "audit_chain_broken"
    title = "The audit log was tampered with."
