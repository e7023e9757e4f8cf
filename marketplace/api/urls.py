"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import path

from marketplace.api import catalogue_views as catalogue
from marketplace.api import reservation_views as views
from marketplace.api import scale_views as scaling
from marketplace.api.availability_views import AvailabilityView
from marketplace.api.cohort_views import CohortsView, CohortView
from marketplace.api.cost_views import CostsCsvView, CostsView
from marketplace.api.event_views import EventsView
from marketplace.api.foresight_views import ForecastView, SimulationsView, SimulationView
from marketplace.api.gang_views import GangsView, GangView
from marketplace.api.placement_views import PlacementView

urlpatterns = [
    path("offers", catalogue.OffersView.as_view()),
    path("price-books", catalogue.PriceBooksView.as_view()),
    path("price-books/<str:book>/prices", catalogue.PricesView.as_view()),
    path("prices/<str:price>/end", catalogue.EndPriceView.as_view()),
    path("quotas", catalogue.QuotasView.as_view()),
    path("cohorts", CohortsView.as_view()),
    path("cohorts/<str:cohort>", CohortView.as_view()),
    path("reconciliation", catalogue.ReconciliationView.as_view()),
    path("availability", AvailabilityView.as_view()),
    path("costs", CostsView.as_view()),
    path("costs.csv", CostsCsvView.as_view()),
    path("events", EventsView.as_view()),
    path("forecast", ForecastView.as_view()),
    path("simulations", SimulationsView.as_view()),
    path("simulations/<str:simulation>", SimulationView.as_view()),
    path("quotes", views.QuotesView.as_view()),
    path("gangs", GangsView.as_view()),
    path("gangs/<str:gang>", GangView.as_view()),
    path("reservations", views.ReservationsView.as_view()),
    path("reservations/<str:reservation>", views.ReservationView.as_view()),
    path("reservations/<str:reservation>/events", views.ReservationEventsView.as_view()),
    path("reservations/<str:reservation>/evictions", views.EvictionsView.as_view()),
    path("reservations/<str:reservation>/scale-rules", scaling.ScaleRulesView.as_view()),
    path("reservations/<str:reservation>/scale-rules/<str:rule>", scaling.ScaleRuleView.as_view()),
    path("reservations/<str:reservation>/scale-decisions", scaling.ScaleDecisionsView.as_view()),
    path("reservations/<str:reservation>/signals", scaling.SignalsView.as_view()),
    path("reservations/<str:reservation>/placement", PlacementView.as_view()),
    path("reservations/<str:reservation>/resize", views.ResizeView.as_view()),
    path("reservations/<str:reservation>/resize-quote", views.ResizeQuoteView.as_view()),
    path("reservations/<str:reservation>/extend-quote", views.ExtendQuoteView.as_view()),
    path("reservations/<str:reservation>/release", views.ReleaseView.as_view()),
    path("reservations/<str:reservation>/extend", views.ExtendView.as_view()),
    path("reservations/<str:reservation>/start-earlier", views.StartEarlierView.as_view()),
]
