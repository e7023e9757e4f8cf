"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import path

from allocator.api import exec_views, views

urlpatterns = [
    path("enrolments", views.EnrolmentsView.as_view()),
    path("nodes", views.NodesView.as_view()),
    path("nodes/<str:node>", views.NodeView.as_view()),
    path("nodes/<str:node>/revoke", views.RevokeNodeView.as_view()),
    path("devices", views.DevicesView.as_view()),
    path("devices/<str:device>", views.DeviceView.as_view()),
    path("devices/<str:device>/calendar", views.CalendarView.as_view()),
    path("leases", views.LeasesView.as_view()),
    path("leases/<str:lease>", views.LeaseView.as_view()),
    path("leases/<str:lease>/token", views.LeaseTokenView.as_view()),
    path("leases/<str:lease>/usage", views.LeaseUsageView.as_view()),
    path("leases/<str:lease>/execs", exec_views.ExecsView.as_view()),
    path("leases/<str:lease>/execs/<str:exec>", exec_views.ExecView.as_view()),
    path("quarantined-usage", views.QuarantineView.as_view()),
    path("quarantined-usage/<str:quarantined>/release", views.ReleaseUsageView.as_view()),
    path("quarantined-usage/<str:quarantined>/dismiss", views.DismissUsageView.as_view()),
]
