"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import path

from allocator.api import exec_views, fleet_views, move_views, node_views, pool_views, views

urlpatterns = [
    path("fleet", fleet_views.FleetView.as_view()),
    path("enrolments", node_views.EnrolmentsView.as_view()),
    path("nodes", node_views.NodesView.as_view()),
    path("nodes/<str:node>", node_views.NodeView.as_view()),
    path("nodes/<str:node>/topology", pool_views.NodeTopologyView.as_view()),
    path("pools", pool_views.PoolsView.as_view()),
    path("pools/<str:name>", pool_views.PoolView.as_view()),
    path("sites", pool_views.SitesView.as_view()),
    path("sites/<str:name>", pool_views.SiteView.as_view()),
    path("sites/<str:name>/topology", pool_views.SiteTopologyView.as_view()),
    path("nodes/<str:node>/revoke", node_views.RevokeNodeView.as_view()),
    path("nodes/<str:node>/cordon", node_views.CordonNodeView.as_view()),
    path("nodes/<str:node>/uncordon", node_views.UncordonNodeView.as_view()),
    path("nodes/<str:node>/impact", node_views.NodeImpactView.as_view()),
    path("nodes/<str:node>/drain", node_views.DrainNodeView.as_view()),
    path("nodes/<str:node>/undrain", node_views.UndrainNodeView.as_view()),
    path("nodes/<str:node>/events", node_views.NodeEventsView.as_view()),
    path("move-plans", move_views.MovePlansView.as_view()),
    path("move-plans/preview", move_views.RoomPreviewView.as_view()),
    path("move-plans/<str:plan>", move_views.MovePlanView.as_view()),
    path("move-plans/<str:plan>/cancel", move_views.CancelMovePlanView.as_view()),
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
