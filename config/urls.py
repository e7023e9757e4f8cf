"""Every address of the WSGI process."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularRedocView, SpectacularSwaggerView

from config import console, pages
from plumbing.api.live_tickets import LiveTicketsView

# Every other address is the console's, as long as it does not look like a file or like something of ours.
CONSOLE = r"^(?!(?:api|agent|static|ui|healthz)(?:/|$))[^.]*$"

urlpatterns: list[URLPattern | URLResolver] = [
    # What browsers ask for on every page that names no icon.
    path("favicon.ico", RedirectView.as_view(url="/ui/favicon.svg")),
    path("healthz", pages.healthz, name="healthz"),
    path("api", pages.front, name="front"),
    path("api/schema", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("api/reference", SpectacularRedocView.as_view(url_name="schema"), name="reference"),
    path("api/errors", pages.error_list, name="errors"),
    path("api/v1/live-tickets", LiveTicketsView.as_view()),
    path("api/v1/", include("identity.api.urls")),
    path("api/v1/", include("allocator.api.urls")),
    path("api/v1/", include("billing.api.urls")),
    path("api/v1/", include("marketplace.api.urls")),
    path("", include("allocator.api.agent_urls")),
    re_path(CONSOLE, console.console, name="console"),
]

handler400 = "plumbing.api.errors.bad_request"
handler404 = "plumbing.api.errors.page_not_found"
handler500 = "plumbing.api.errors.server_error"
