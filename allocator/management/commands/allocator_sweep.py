"""`manage.py allocator_sweep`: is anything over capacity?"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from allocator.services.sweep import sweep
from plumbing.rowsec import system_scope


class Command(BaseCommand):
    help = "Check every device's calendar; exits non-zero if anything is over capacity."

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002 - Django's signature
        with system_scope():
            found = sweep()
        for violation in found:
            self.stdout.write(str(violation))
        if found:
            raise CommandError(f"{len(found)} violations")
        self.stdout.write("Nothing is over capacity.")
