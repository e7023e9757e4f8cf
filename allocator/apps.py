"""The allocator room: nodes, devices, leases, and the facts of their use. It knows no price."""

from django.apps import AppConfig


class AllocatorConfig(AppConfig):
    name = "allocator"
