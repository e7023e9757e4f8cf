"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import path

from identity.api import session_views, views

urlpatterns = [
    path("session", session_views.SessionView.as_view()),
    path("me", session_views.MeView.as_view()),
    path("me/password", session_views.PasswordView.as_view()),
    path("me/sessions", session_views.SessionsView.as_view()),
    path("me/sessions/<str:session>", session_views.OneSessionView.as_view()),
    path("tenants", views.TenantsView.as_view()),
    path("projects", views.ProjectsView.as_view()),
    path("members", views.MembersView.as_view()),
    path("members/<str:member>", views.MemberView.as_view()),
    path("tokens", views.TokensView.as_view()),
    path("tokens/<str:token>", views.TokenView.as_view()),
    path("audit-events", views.AuditEventsView.as_view()),
]
