"""Whether the server itself was there to hear the nodes."""

from __future__ import annotations

from django.db import models

from plumbing.models import TenantRow


class Pulse(TenantRow):
    """A part of the server that must run for a node to be heard: the sockets' process and the watch itself.

    After a pause of the part, `up_since` restarts: a node that was not heard meanwhile is not to blame.
    """

    part = models.CharField(max_length=16, unique=True)
    beat_at = models.DateTimeField()
    up_since = models.DateTimeField()

    def __str__(self) -> str:
        return self.part
