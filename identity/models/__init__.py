"""People, what they belong to, and what they did."""

from identity.models.audit import AuditEvent
from identity.models.member import Member, Role
from identity.models.session import Session
from identity.models.tenant import Project, Tenant
from identity.models.token import Token
from identity.models.user import User

__all__ = ["AuditEvent", "Member", "Project", "Role", "Session", "Tenant", "Token", "User"]
