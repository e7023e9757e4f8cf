"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import path

from identity.api import views

urlpatterns = [
    path("me", views.MeView.as_view()),
    path("tenants", views.TenantsView.as_view()),
    path("projects", views.ProjectsView.as_view()),
    path("members", views.MembersView.as_view()),
    path("tokens", views.TokensView.as_view()),
    path("tokens/<str:token>", views.TokenView.as_view()),
    path("audit-events", views.AuditEventsView.as_view()),
]
