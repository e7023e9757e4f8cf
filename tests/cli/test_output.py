"""Pipes are safe: every format parses, ids are whole, talk stays on stderr."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import time

import pytest

from cli import reference
from tests.cli.conftest import ROOT, Command
from tests.cli.peer import Peer

LONG = "dev_01k9zj4x8ge5h8v4c3m1q7r2tb"
DEVICE = {
    "id": LONG, "kind": "cpu", "model": "A processor with quite a long name of its own, and a comma @ 2.00GHz",
    "capacity_mib": 3000, "capacity_permille": 750, "compute_units": 2, "isolation": "limiter-strict",
    "simulated": False, "online": True, "vendor": "x", "isolation_detail": "", "node": "nod_1",
    "readings": {"temperature_c": {"value": None, "at": None, "quality": "unavailable"}},
}  # fmt: skip
RESERVATION = {
    "id": "rsv_1", "state": "active", "slice": {"memory_mib": 512, "share_permille": 250}, "project": "prj_1",
    "starts_at": "2026-12-01T00:00:00Z", "ends_at": None, "lease": None, "price": None,
}  # fmt: skip
VERBS = [
    ("/offers", ["offers"]), ("/devices", ["device", "list"]), ("/nodes", ["node", "list"]),
    ("/reservations", ["reserve", "list"]), ("/leases", ["lease", "list"]), ("/invoices", ["invoice", "list"]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "verb"), VERBS)
def test_every_list_parses_in_every_format(vxpu: Command, peer: Peer, path: str, verb: list[str]) -> None:
    row = {**RESERVATION, **DEVICE}
    peer.on("GET", path, {"items": [row, row], "next": None})
    made = {fmt: vxpu(*verb, "-o", fmt) for fmt in ("json", "jsonl", "csv", "name", "table")}
    assert {fmt: ran.returncode for fmt, ran in made.items()} == dict.fromkeys(made, 0)
    assert json.loads(made["json"].stdout) == [row, row]
    assert [json.loads(line) for line in made["jsonl"].stdout.splitlines()] == [row, row]
    assert len(list(csv.DictReader(io.StringIO(made["csv"].stdout)))) == 2
    assert made["name"].stdout == f"{LONG}\n{LONG}\n"
    assert made["table"].stdout.count(LONG) == 2


def test_a_piped_table_has_no_border_and_no_width_limit(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/devices", {"items": [DEVICE], "next": None})
    ran = vxpu("device", "list")
    header, line = ran.stdout.splitlines()
    assert header.split("  ")[0].strip() == "ID"
    assert LONG in line
    assert str(DEVICE["model"]) in line
    assert not set("│─┃|") & set(ran.stdout)


def test_unknown_is_not_zero(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/reservations/rsv_1", RESERVATION)
    shown = vxpu("reserve", "show", "rsv_1").stdout
    assert "n/a" in next(line for line in shown.splitlines() if line.startswith("ends at"))
    peer.on("GET", "/reservations", {"items": [RESERVATION], "next": None})
    rows = list(csv.DictReader(io.StringIO(vxpu("reserve", "list", "-o", "csv").stdout)))
    assert rows[0]["ends at"] == ""


def test_a_problem_goes_to_stderr_with_its_way_out(vxpu: Command, peer: Peer) -> None:
    peer.problem(
        "POST", "/reservations", 409, "no_capacity", title="No device has room.", detail="Nothing fits 1500 MiB.",
        suggestion="take a smaller slice", constraints={"compute": 1}, next_free_at="2026-12-01T10:00:00Z",
        nearest=[{"memory_mib": 1024, "share_permille": 125}], alternatives=[], request_id="req_7",
    )  # fmt: skip
    ran = vxpu("reserve", "create", "-m", "1500MiB", "-c", "50%", "-p", "prj_1", "-o", "json")
    assert (ran.returncode, ran.stdout) == (3, "")
    for part in ("No device has room.", "compute on 1 device", "2026-12-01T10:00:00Z", "1 GiB + 12.5 %", "req_7"):
        assert part in ran.stderr


def test_bad_input_names_the_field(vxpu: Command, peer: Peer) -> None:
    errors = [{"pointer": "/slice/memory_mib", "detail": "must be at least 1"}]
    peer.problem("POST", "/reservations", 422, "invalid", title="Not possible.", errors=errors)
    ran = vxpu("reserve", "create", "-m", "1MiB", "-c", "1%", "-p", "prj_1")
    assert ran.returncode == 2
    assert "/slice/memory_mib: must be at least 1" in ran.stderr


def test_help_is_quick_and_needs_no_network(vxpu: Command) -> None:
    took = []
    for _ in range(4):
        began = time.monotonic()
        assert "Usage: vxpu" in vxpu("--help").stdout
        took.append(time.monotonic() - began)
    # 150 ms is the promise on a quiet machine; the best of four forgives a busy one.
    assert min(took) < 0.5


def test_help_imports_neither_the_client_nor_rich(vxpu: Command) -> None:
    ran = vxpu("--help", PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rsplit("|", 1)[-1].strip() for line in ran.stderr.splitlines()}
    assert not {"httpx", "rich", "pydantic", "django"} & loaded


def test_the_page_of_the_commands_is_current() -> None:
    assert reference.PAGE.read_text() == reference.page()


def test_a_narrow_terminal_wraps_prose_and_never_an_id(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/devices", {"items": [DEVICE], "next": None})
    ours, theirs = pty.openpty()
    env = {**vxpu.env, "COLUMNS": "60"}
    ran = subprocess.run(vxpu.argv("device", "list"), env=env, stdout=theirs, cwd=ROOT, check=False)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    assert ran.returncode == 0
    assert LONG in shown
    assert str(DEVICE["model"]) not in shown
