"""Addresses of the agents' HTTP doors, at the root."""

from __future__ import annotations

from django.urls import path

from allocator.api import agent_views
from vxpu.wire.node import ENROL_PATH, ROTATE_PATH, USAGE_PATH

urlpatterns = [
    path(ENROL_PATH.lstrip("/"), agent_views.EnrolView.as_view()),
    path(ROTATE_PATH.lstrip("/"), agent_views.RotateView.as_view()),
    path(USAGE_PATH.lstrip("/"), agent_views.UsageView.as_view()),
]
