"""A real agent process against a peer that speaks the wire: an ordinary life."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.enforce.place import workdir_target
from tests.agent.agents import ROOT, Agent, run_in, running_agent, settle
from tests.agent.bench import skip_unless_root, wait_for
from vxpu.slices import Slice


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    skip_unless_root()
    with running_agent(tmp_path / "node") as found:
        yield found


def test_a_lease_lives_from_ready_to_gone_and_every_window_arrives_once(agent: Agent) -> None:
    agent.peer.want()
    agent.wait_state("ready")
    program = agent.burn()
    assert program.stdout is not None
    assert program.stdout.readline() == "up\n"
    time.sleep(3)
    agent.peer.want(version=2, slice=Slice(memory_mib=128, share_permille=400))
    wait_for(lambda: (agent.peer.report() or agent.peer.want()).version == 2, what="the resize is told")
    time.sleep(2)
    agent.peer.drop()
    agent.wait_state("gone")
    assert program.wait(40) == 128 + signal.SIGTERM
    assert program.stdout.read() == "released"
    settle(agent)
    windows = sorted(agent.peer.events.values(), key=lambda event: event.data.seq)
    assert [event.data.seq for event in windows] == list(range(len(windows)))
    made = agent.status()["leases"]["lse_a"]["windows_closed"]
    assert len({event.data.window_start for event in windows}) == len(windows) == made
    granted = [event.data.granted_permille_s for event in windows]
    assert 399 <= max(granted) <= 401
    quarter = [event.data.used_permille_s or 0 for event in windows if 199 <= event.data.granted_permille_s <= 201]
    assert quarter
    assert max(quarter) <= 220


def test_each_event_names_the_one_before(agent: Agent) -> None:
    import hashlib
    import json

    agent.peer.want()
    agent.wait_state("ready")
    wait_for(lambda: len(agent.peer.events) >= 2, what="two windows")
    first, second = sorted(agent.peer.events.values(), key=lambda event: event.data.seq)[:2]
    assert second.data.prev_hash == hashlib.sha256(first.model_dump_json().encode()).hexdigest()
    assert json.loads(first.model_dump_json())["data"]["prev_hash"] == ""


def test_two_slices_are_two_uids_and_the_status_shows_them(agent: Agent) -> None:
    agent.peer.want()
    agent.peer.want("lse_b")
    for lease_id in ("lse_a", "lse_b"):
        agent.wait_state("ready", lease_id)
    shown = subprocess.run(
        [sys.executable, "-m", "agent", "status", "--state-dir", agent.config.state_dir], cwd=ROOT, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    leases = agent.status()["leases"]
    assert leases["lse_a"]["uid"] != leases["lse_b"]["uid"]
    assert "lse_a" in shown.stdout
    assert "nod_test" in shown.stdout


@pytest.mark.parametrize(("token", "code"), [
    ({"fence": 9}, "superseded"), ({"expires_in_s": -1}, "expired_token"), ({"lease_id": "lse_z"}, "not_found"),
    ({"aud": "vxpu-server"}, "bad_token"),
])  # fmt: skip
def test_a_wrong_lease_token_opens_nothing(agent: Agent, token: dict[str, object], code: str) -> None:
    agent.peer.want()
    agent.wait_state("ready")
    arguments = {"lease_id": "lse_a", **token}
    refused = run_in(agent, "lse_a", "true", token=agent.peer.lease_token(**arguments))  # type: ignore[arg-type]
    _, said = refused.communicate(timeout=40)
    assert refused.returncode == 1
    assert f"({code})" in said


def test_the_callers_folder_is_seen_read_only(agent: Agent) -> None:
    agent.peer.want()
    agent.wait_state("ready")
    script = "test -f pyproject.toml && pwd && ! touch x 2>/dev/null"
    program = run_in(agent, "lse_a", "sh", "-c", script, token=agent.peer.lease_token(), cwd=str(ROOT))
    out, said = program.communicate(timeout=40)
    # A slice has a /tmp of its own: a clone that lies in the caller's is seen at another place.
    assert (program.returncode, out) == (0, f"{workdir_target(str(ROOT))}\n"), said


def test_a_superseded_token_kills_and_begins_anew(agent: Agent) -> None:
    agent.peer.want()
    agent.wait_state("ready")
    program = agent.burn()
    assert program.stdout is not None
    program.stdout.readline()
    agent.peer.want(token=2)
    assert program.wait(40) == 128 + signal.SIGTERM
    wait_for(lambda: (agent.peer.report() or agent.peer.want()).token == 2, what="the new token is told")
    agent.wait_state("ready")
    assert agent.status()["leases"]["lse_a"]["token"] == 2


def test_its_time_ends_a_slice_and_its_program_is_told(agent: Agent) -> None:
    from datetime import timedelta

    agent.peer.want(ends_at=agent.peer.now() + timedelta(seconds=3))
    agent.wait_state("ready")
    program = agent.burn()
    out, _ = program.communicate(timeout=40)
    assert out == "up\nexpired"
    agent.wait_state("gone")


def test_a_lease_on_an_unknown_device_is_refused_with_the_reason(agent: Agent) -> None:
    agent.peer.want(device_key="cpu:elsewhere")
    agent.wait_state("preparing")
    report = agent.peer.report()
    assert report is not None
    assert "no device" in report.reason


def test_at_a_stop_slices_stay_or_end_as_configured(tmp_path: Path) -> None:
    skip_unless_root()
    for option, left in (("keep", True), ("end", False)):
        with running_agent(tmp_path / option, "--on-stop", option) as agent:
            agent.peer.want()
            agent.wait_state("ready")
            agent.signal(signal.SIGTERM)
            assert bool(agent.group().processes()) is left
            agent.start()
            agent.peer.syncs.clear()
            agent.wait_state("ready")


def test_keys_rotate_and_a_bad_one_time_token_is_said(agent: Agent, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "agent", "rotate", "--state-dir", str(agent.config.state_dir)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert len(agent.peer.node_keys) == 2
    agent.kill()
    agent.peer.syncs.clear()
    agent.start()
    wait_for(lambda: agent.peer.syncs, what="the new key is taken")
    (tmp_path / "bad").write_text("vxe_other")
    failed = subprocess.run(
        [sys.executable, "-m", "agent", "enrol", "--server", agent.peer.url, "--token-file", tmp_path / "bad",
         "--state-dir", tmp_path / "other"], cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert failed.returncode == 1
    assert "refused the enrolment: 403" in failed.stderr
