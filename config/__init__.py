"""Wiring: settings, addresses, processes. The Celery app is imported here so that shared tasks find their broker."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
