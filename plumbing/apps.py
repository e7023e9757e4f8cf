"""The plumbing room."""

from django.apps import AppConfig


class PlumbingConfig(AppConfig):
    name = "plumbing"
