"""What each verb asks the server for."""

from __future__ import annotations

import json
import stat
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.peer import Peer

RESERVATION = {
    "id": "rsv_1", "state": "active", "slice": {"memory_mib": 512, "share_permille": 250},
    "starts_at": "2026-12-01T00:00:00Z", "ends_at": None, "lease": {"id": "lse_1", "state": "ready"},
}  # fmt: skip


def test_login_keeps_a_token_that_only_its_owner_reads(vxpu: Command, peer: Peer, tmp_path: Path) -> None:
    peer.on("GET", "/me", {"name": "Ada"})
    env = {"VXPU_TOKEN": "", "XDG_CONFIG_HOME": str(tmp_path)}
    assert vxpu("login", "--server", peer.url, "--token-stdin", stdin="vxp_pat_kept\n", **env).returncode == 0
    kept = tmp_path / "vxpu" / "config.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert vxpu("whoami", "-o", "json", VXPU_SERVER="", **env).returncode == 0
    assert peer.asked[-1].headers["authorization"] == "Bearer vxp_pat_kept"
    vxpu("logout", **env)
    assert vxpu("whoami", VXPU_SERVER="", **env).returncode == 5


def test_a_refused_token_is_not_kept(vxpu: Command, peer: Peer, tmp_path: Path) -> None:
    peer.problem("GET", "/me", 401, "not_authenticated", title="Who are you?")
    ran = vxpu("login", "--server", peer.url, "--token-stdin", stdin="wrong\n", XDG_CONFIG_HOME=str(tmp_path))
    assert ran.returncode == 5
    assert not (tmp_path / "vxpu").exists()


def test_create_sends_the_slice_in_the_units_of_the_api(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/projects", {"items": [{"id": "prj_only", "name": "one"}], "next": None})
    peer.on("POST", "/reservations", RESERVATION, status=201)
    ran = vxpu("reserve", "create", "-m", "24GiB", "-c", "12.5%", "--start", "2026-12-01T14:00+01:00", "--for", "90m")
    assert ran.returncode == 0, ran.stderr
    assert peer.bodies("POST", "/reservations") == [
        {
            "project": "prj_only", "slice": {"memory_mib": 24576, "share_permille": 125}, "device": None,
            "device_kind": None, "offer": None, "queue": False,
            "starts_at": "2026-12-01T13:00:00Z", "ends_at": "2026-12-01T14:30:00Z",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("args", "said"),
    [(["-m", "1GB", "-c", "25%"], "not a memory size"), (["-m", "1GiB", "-c", "250%"], "not within"),
     (["-m", "1GiB"], "both"), (["-m", "1GiB", "-c", "5%", "--for", "soon"], "not a duration"),
     (["-m", "1GiB", "-c", "5%", "--start", "noon"], "not a time")],
)  # fmt: skip
def test_what_is_not_a_slice_or_a_time_never_reaches_the_server(
    vxpu: Command, peer: Peer, args: list[str], said: str
) -> None:
    ran = vxpu("reserve", "create", "-p", "prj_1", *args)
    assert (ran.returncode, peer.asked) == (2, [])
    assert said in ran.stderr


def test_a_wall_clock_time_that_comes_twice_needs_an_offset(vxpu: Command, peer: Peer) -> None:
    ran = vxpu("reserve", "create", "-m", "1GiB", "-c", "5%", "-p", "prj_1", "--start", "2026-10-25T02:30",
               TZ="Europe/Berlin")  # fmt: skip
    assert (ran.returncode, peer.asked) == (2, [])
    assert "2026-10-25T02:30+0200 or 2026-10-25T02:30+0100" in ran.stderr


def test_resize_keeps_the_half_that_is_not_named(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/reservations/rsv_1", RESERVATION).on("POST", "/reservations/rsv_1/resize", RESERVATION)
    assert vxpu("reserve", "resize", "rsv_1", "-c", "40%").returncode == 0
    assert peer.bodies("POST", "/reservations/rsv_1/resize") == [{"slice": {"memory_mib": 512, "share_permille": 400}}]


def test_extend_moves_the_end(vxpu: Command, peer: Peer) -> None:
    peer.on("POST", "/reservations/rsv_1/extend", RESERVATION)
    assert vxpu("reserve", "extend", "rsv_1", "--end", "2026-12-02T00:00Z").returncode == 0
    assert peer.bodies("POST", "/reservations/rsv_1/extend") == [{"ends_at": "2026-12-02T00:00:00Z"}]
    assert vxpu("reserve", "extend", "rsv_1").returncode == 2


def test_releasing_what_is_gone_is_fine(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/reservations/rsv_1", {**RESERVATION, "state": "completed"})
    ran = vxpu("reserve", "release", "rsv_1", "-o", "json")
    assert (ran.returncode, json.loads(ran.stdout)["already_ended"]) == (0, True)
    assert [each.method for each in peer.asked] == ["GET"]


def test_cancel_asks_and_changes_nothing_unanswered(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/reservations/rsv_1", RESERVATION).on("POST", "/reservations/rsv_1/release", RESERVATION)
    assert vxpu("reserve", "cancel", "rsv_1").returncode == 2
    assert {each.method for each in peer.asked} == {"GET"}
    assert vxpu("reserve", "cancel", "rsv_1", "--yes").returncode == 0


def test_a_lease_is_released_through_its_reservation(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/leases/lse_1", {"id": "lse_1"}).on("GET", "/reservations", {"items": [RESERVATION], "next": None})
    peer.on("GET", "/reservations/rsv_1", RESERVATION).on("POST", "/reservations/rsv_1/release", RESERVATION)
    assert vxpu("lease", "release", "lse_1").returncode == 0
    assert vxpu("lease", "release", "lse_other").returncode == 7


def test_waiting_ends_when_ready_when_hopeless_and_when_late(vxpu: Command, peer: Peer) -> None:
    peer.on("GET", "/leases/lse_1", {"id": "lse_1", "state": "preparing"})
    assert vxpu("lease", "wait", "lse_1", "--timeout", "1s").returncode == 9
    peer.on("GET", "/leases/lse_1", {"id": "lse_1", "state": "ready"})
    assert vxpu("lease", "wait", "lse_1").returncode == 0
    peer.on("GET", "/leases/lse_2", {"id": "lse_2", "state": "gone", "end_reason": "expired"})
    assert vxpu("lease", "wait", "lse_2").returncode == 11


def test_invoices_come_in_each_format_and_costs_add_up(vxpu: Command, peer: Peer) -> None:
    lines = [{"kind": "used", "amount": "0.10"}, {"kind": "used", "amount": "0.20"}, {"kind": "idle", "amount": "1.05"}]
    peer.on("GET", "/invoices", {"items": [{"id": "inv_1"}], "next": None})
    peer.on("GET", "/invoices/inv_1", {"id": "inv_1", "currency": "EUR", "lines": lines})
    peer.on("GET", "/invoices/inv_1/csv", "number,amount\nX-1,1.35\n")
    assert vxpu("invoice", "get", "inv_1", "--format", "csv").stdout == "number,amount\nX-1,1.35\n"
    assert json.loads(vxpu("invoice", "get", "inv_1").stdout)["currency"] == "EUR"
    rows = {row["kind"]: row["amount"] for row in json.loads(vxpu("cost", "-o", "json").stdout)}
    assert rows == {"used": "0.30", "idle": "1.05", "total": "1.35"}


def test_api_sends_what_it_is_given(vxpu: Command, peer: Peer) -> None:
    peer.on("POST", "/quotas", {"ok": True})
    ran = vxpu("api", "post", "/v1/quotas", "-d", "-", "--idempotency-key", "k1", stdin='{"a": 1}')
    assert json.loads(ran.stdout) == {"ok": True}
    assert (peer.bodies("POST", "/quotas"), peer.keys()) == ([{"a": 1}], ["k1"])
    assert vxpu("api", "GET", "/v1/offers", "-d", "{").returncode == 2


def test_usage_is_listed_window_by_window(vxpu: Command, peer: Peer) -> None:
    window = {"window_start": "2026-12-01T00:00:00Z", "window_s": 2, "granted_permille_s": 500,
              "used_permille_s": 480, "peak_mib": None, "contended": False}  # fmt: skip
    peer.on("GET", "/leases/lse_1/usage", {"windows": [window], "windows_counted": 1})
    shown = vxpu("lease", "usage", "lse_1").stdout.splitlines()[1].split()
    assert shown[2:] == ["500", "480", "n/a", "no"]
    assert datetime.fromisoformat(shown[0]).year == 2026
