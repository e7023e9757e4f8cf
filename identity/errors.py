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


class LastAdmin(Conflict):
    code = "last_admin"
    title = "A tenant keeps at least one admin."


class WrongLogin(DomainError):
    """The same for an unknown address, a wrong password and a user who may not come in."""

    code = "wrong_login"
    status = 401
    title = "The log-in is not right."


class TooManyAttempts(DomainError):
    code = "too_many_attempts"
    status = 429
    title = "Too many wrong log-ins."


class CsrfFailed(Forbidden):
    """A browser's request that changes something, without proof that it comes from our own pages."""

    code = "csrf_failed"
    title = "The request does not prove that it comes from this site's pages."


class WrongPassword(Invalid):
    code = "wrong_password"
    title = "The present password is not right."


class WeakPassword(Invalid):
    code = "weak_password"
    title = "The new password is too weak."
