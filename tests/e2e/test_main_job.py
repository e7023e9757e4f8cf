"""The main job on a stack of its own, in a bounded form: every promise kept, and the receipt says so."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from config.demo.__main__ import play
from config.demo.numbers import QUICK
from config.demo.screen import Screen
from config.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.native, pytest.mark.timeout(300)]

TENANT_FIELDS = {
    "tenant", "device", "memory_mib", "memory_refused_at_mib", "result_ok", "intervals", "permille_seconds_reserved",
    "permille_seconds_used", "windows_sent", "windows_counted", "isolation", "invoice", "currency", "total",
}  # fmt: skip
INTERVAL_FIELDS = {"from", "to", "share_permille", "demand_permille", "share_got_permille", "contended"}
DEVICE_FIELDS = {"device", "kind", "simulated", "cost", "charged", "idle", "over_recovery"}


@pytest.fixture(scope="module")
def played(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> tuple[Screen, Path]:
    out = tmp_path_factory.mktemp("main-job")
    screen = Screen()
    play(stack, screen, out=out, timing=QUICK)
    return screen, out


@pytest.fixture(scope="module")
def receipt(played: tuple[Screen, Path]) -> dict[str, Any]:
    return dict(json.loads((played[1] / "receipt.json").read_text()))


def test_every_promise_was_kept(played: tuple[Screen, Path]) -> None:
    assert [f"{check.promise}: {check.seen}" for check in played[0].broken] == []
    assert len(played[0].checks) > 40


def test_the_receipt_has_exactly_its_fields(receipt: dict[str, Any]) -> None:
    assert [set(row) for row in receipt["tenants"]] == [TENANT_FIELDS] * 3
    assert [set(row) for row in receipt["devices"]] == [DEVICE_FIELDS]
    assert {frozenset(one) for row in receipt["tenants"] for one in row["intervals"]} == {frozenset(INTERVAL_FIELDS)}
    assert [len(row["intervals"]) for row in receipt["tenants"]] == [2, 1, 1]


def test_memory_ends_where_the_slice_ends(receipt: dict[str, Any]) -> None:
    assert [row["memory_refused_at_mib"] == row["memory_mib"] > 0 for row in receipt["tenants"]] == [True] * 3
    assert all(row["result_ok"] for row in receipt["tenants"])


def test_windows_are_counted_once(receipt: dict[str, Any]) -> None:
    assert all(row["windows_sent"] == row["windows_counted"] > 3 for row in receipt["tenants"])
    assert all(0 < row["permille_seconds_used"] <= row["permille_seconds_reserved"] for row in receipt["tenants"])


def test_the_device_adds_up_to_the_cent(receipt: dict[str, Any]) -> None:
    row = receipt["devices"][0]
    amounts = {name: Decimal(row[name]) for name in ("cost", "charged", "idle", "over_recovery")}
    assert all(isinstance(row[name], str) for name in amounts)
    assert amounts["charged"] + amounts["idle"] - amounts["over_recovery"] == amounts["cost"] > 0
    assert sum(Decimal(tenant["total"]) for tenant in receipt["tenants"]) == amounts["charged"]


def test_each_invoice_is_there_in_each_format(played: tuple[Screen, Path], receipt: dict[str, Any]) -> None:
    names = {path.name for path in (played[1] / "invoices").iterdir()}
    wanted = {f"{letter}-{row['invoice']}" for letter, row in zip("ABC", receipt["tenants"], strict=True)}
    assert names == {f"{name}.{fmt}" for name in wanted for fmt in ("csv", "json")}
