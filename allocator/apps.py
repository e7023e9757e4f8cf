"""The allocator room: nodes, devices, leases, and the facts of their use. It knows no price."""

from django.apps import AppConfig
from django.core import checks


class AllocatorConfig(AppConfig):
    name = "allocator"

    def ready(self) -> None:
        from allocator.services.self_fence import check_settings

        checks.register(check_settings)
