"""The product's password hash with next to no work in it: a test need not pay for it, and can count it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.hashers import Argon2PasswordHasher


class QuickArgon2(Argon2PasswordHasher):
    time_cost = 1
    memory_cost = 64  # KiB
    parallelism = 1
    hashed = 0

    def encode(self, *args: Any, **kwargs: Any) -> str:
        QuickArgon2.hashed += 1
        return str(super().encode(*args, **kwargs))

    def verify(self, *args: Any, **kwargs: Any) -> bool:
        QuickArgon2.hashed += 1
        return bool(super().verify(*args, **kwargs))
