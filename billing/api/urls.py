"""Addresses under /api/v1/."""

from __future__ import annotations

from django.urls import path

from billing.api import views

urlpatterns = [
    path("account", views.AccountView.as_view()),
    path("accounts", views.AccountsView.as_view()),
    path("accounts/<str:account>", views.AccountStatusView.as_view()),
    path("invoices", views.InvoicesView.as_view()),
    path("invoices/<str:invoice>", views.InvoiceView.as_view()),
    path("invoices/<str:invoice>/csv", views.InvoiceCsvView.as_view()),
    path("billing-periods/close", views.ClosePeriodView.as_view()),
    path("ledger", views.LedgerView.as_view()),
]
