"""What the demo writes and says, without a stack: the guest programs' arithmetic, the screen and the tables."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from config.demo import host
from config.demo.node_books import NodeCount, node_count
from config.demo.programs.digits import distances_on_host, load_digits, vote
from config.demo.programs.saturate import jump
from config.demo.receipt import show_receipt, write_receipt
from config.demo.screen import Screen

RECEIPT = {
    "tenants": [
        {
            "tenant": "Aurora Robotics (1)", "device": "dev_1", "memory_mib": 1024, "memory_refused_at_mib": 1024,
            "result_ok": True, "permille_seconds_reserved": 10, "permille_seconds_used": 9, "windows_sent": 3,
            "windows_counted": 3, "isolation": "limiter-strict", "invoice": "INV-000001", "currency": "EUR",
            "total": "1.04", "intervals": [
                {"from": "2026-12-01T10:00:00Z", "to": "2026-12-01T10:00:08Z", "share_permille": 250,
                 "demand_permille": 995, "share_got_permille": 249, "contended": True},
            ],
        },
    ],
    "devices": [{"device": "dev_01k9zj4x8ge5h8v4c3m1q7r2tb", "kind": "cpu", "simulated": True, "cost": "7.70",
                 "charged": "4.04", "idle": "3.66", "over_recovery": "0.00"}],
}  # fmt: skip


def screen_of(width: int) -> tuple[Screen, io.StringIO]:
    out = io.StringIO()
    return Screen(console=Console(file=out, width=width, highlight=False)), out


def test_the_tables_say_what_the_file_says(tmp_path: Path) -> None:
    screen, out = screen_of(120)
    show_receipt(RECEIPT, screen)
    shown = out.getvalue()
    for part in ("249", "contended", "1.04", "INV-000001", "cpu (simulated)", "7.70", RECEIPT["devices"][0]["device"]):
        assert str(part) in shown
    write_receipt(RECEIPT, tmp_path / "deep" / "receipt.json")
    assert json.loads((tmp_path / "deep" / "receipt.json").read_text()) == RECEIPT


def test_a_broken_promise_is_remembered(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    assert screen.check("kept", True, 1)
    assert not screen.check("broken", False, "[seen]")
    assert [check.promise for check in screen.broken] == ["broken"]
    assert "NO broken: [seen]" in capsys.readouterr().out


def test_the_machine_is_watched_in_permille_of_all_cores() -> None:
    with host.Watch(every_s=0.02) as watch:
        first = host.sample().at
        while (idle := watch.idle_permille(first, first + 60)) is None:
            pass
    assert 0 <= idle <= 1000
    assert watch.idle_permille(first - 1000, first - 900) is None


def test_a_node_without_an_agent_counts_nothing(tmp_path: Path) -> None:
    assert node_count(tmp_path, "lse_01k9zj4x8ge5h8v4c3m1q7r2tb") == NodeCount(0, 0)
    assert NodeCount(closed=7, unsent=2).sent == 5


@pytest.mark.parametrize("rounds", [0, 1, 2, 775, 100_003])
def test_the_generators_jump_is_its_steps(rounds: int) -> None:
    values = [0, 1, 32_767]
    for _ in range(rounds):
        values = [(value * 1_664_525 + 1_013_904_223) % 2**32 for value in values]
    assert jump(np.array([0, 1, 32_767], np.uint32), rounds).tolist() == values


def test_the_digits_are_recognised_by_the_reference_too() -> None:
    images, labels = load_digits()
    assert (images.shape, images.min(), images.max()) == ((1797, 64), 0, 16)
    guesses = vote(distances_on_host(images[:-360], images[-360:]), labels[:-360])
    assert int((guesses == labels[-360:]).sum()) == 346
