"""Projects of a tenant."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError

from identity.errors import SlugTaken
from identity.models import Project
from identity.services import audit
from plumbing import db
from plumbing.principal import Principal


@db.transaction
def create(*, by: Principal, name: str, slug: str, now: datetime) -> Project:
    """A project in the caller's tenant. Raises SlugTaken."""
    try:
        with db.savepoint():
            project = Project.objects.create(tenant_id=by.tenant_id, name=name, slug=slug, created_at=now)
    except IntegrityError as error:
        raise SlugTaken(f"There is a project {slug!r}.", suggestion="Choose another slug.") from error
    audit.record(
        tenant_id=by.tenant_id, actor_id=by.user_id, action="project.created", subject=str(project.pk), now=now,
        data={"name": name, "slug": slug},
    )  # fmt: skip
    return project
