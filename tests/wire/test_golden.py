"""The golden files are the compatibility contract: what old peers sent is read for ever, what we send does not change.

A file is changed only together with WIRE_VERSION; a new message gets a new file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from vxpu.wire import WIRE_VERSION, live, node, usage
from vxpu.wire import exec as exec_wire
from vxpu.wire.base import Lenient, Strict

GOLDEN = Path(__file__).parent / "golden"
MESSAGES: dict[str, type[BaseModel]] = {
    name: value
    for module in (node, usage, exec_wire, live)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, Strict | Lenient) and value not in {Strict, Lenient}
}
# Parts of other messages, golden within them.
PARTS = {"Reading", "DeviceReport", "LeaseReport", "DesiredLease", "UsageData", "UsageResult", "LeaseSample"}
PARTS |= {"DeviceSample", "CardLink", "MigState"}
WHOLE = sorted(MESSAGES.keys() - PARTS)


def golden(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return found


def test_every_message_has_its_file_and_the_version_is_theirs() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.json")) == WHOLE
    assert WIRE_VERSION == 1


@pytest.mark.parametrize("name", WHOLE)
def test_a_golden_message_is_read_and_written_back_byte_for_byte(name: str) -> None:
    text = (GOLDEN / f"{name}.json").read_text()
    message = MESSAGES[name].model_validate_json(text)
    assert message.model_dump_json(indent=2) + "\n" == text


@pytest.mark.parametrize("name", WHOLE)
def test_an_unknown_field_is_an_error_where_we_accept_and_ignored_where_we_read_a_newer_peer(name: str) -> None:
    newer = {**golden(name), "added_in_version_2": 1}
    if issubclass(MESSAGES[name], Strict):
        with pytest.raises(ValidationError, match="added_in_version_2"):
            MESSAGES[name].model_validate(newer)
    else:
        assert MESSAGES[name].model_validate(newer) == MESSAGES[name].model_validate(golden(name))


@pytest.mark.parametrize("name", WHOLE)
def test_a_message_without_a_field_that_it_needs_is_refused(name: str) -> None:
    kind = MESSAGES[name]
    for field, about in kind.model_fields.items():
        if about.is_required():
            with pytest.raises(ValidationError, match=field):
                kind.model_validate({key: value for key, value in golden(name).items() if key != field})


@pytest.mark.parametrize(("union", "names"), [
    (node.FromAgent, ["Hello", "Sync", "Samples", "RemoteStarted", "RemoteOutput", "RemoteExit"]),
    (node.FromServer, ["Desired", "Poke", "Refused", "Watch", "RemoteExec", "RemoteSignal", "RemoteTaken"]),
    (node.FromServer, ["RemoteHangup"]),
    (exec_wire.FromClient, ["ExecRequest", "ExecSignal"]),
    (exec_wire.FromAgent, ["ExecStarted", "ExecRefused", "ExecEnded"]),
    (exec_wire.ToStream, ["ExecSignal", "ExecTaken"]),
    (live.FromWatcher, ["LiveHello", "Subscribe", "Unsubscribe", "Ping"]),
    (live.ToWatcher, ["Welcome", "Snapshot", "Resumed", "Delta", "Metrics", "Gap", "LiveRefused", "Status", "Pong"]),
    (exec_wire.FromStream, ["ExecStarted", "ExecRefused", "ExecOutput", "ExecTruncated", "ExecEnded"]),
])  # fmt: skip
def test_each_frame_is_told_apart_by_its_type(union: Any, names: list[str]) -> None:
    for name in names:
        frame = TypeAdapter(union).validate_json((GOLDEN / f"{name}.json").read_text())
        assert type(frame) is MESSAGES[name]


@pytest.mark.parametrize(("name", "path", "value"), [
    ("Sync", ["devices", 0, "capacity_permille"], 1001), ("Sync", ["devices", 0, "memory_mib"], 0),
    ("Sync", ["sent_at"], "2026-12-01T12:00:00"), ("Enrol", ["machine_id"], "x" * 65),
    ("UsageEvent", ["data", "used_permille_s"], -1), ("UsageEvent", ["data", "window_s"], 0),
    ("CardReport", ["links", 0, "pcie"], "near"), ("CardReport", ["links", 0, "nvlinks"], -1),
    ("HookDone", ["result"], "perhaps"), ("HookDone", ["detail"], "x" * 401),
    ("UsageEvent", ["specversion"], "0.3"), ("ExecRequest", ["argv"], []), ("ExecSignal", ["signal"], 64),
    ("RemoteSignal", ["signal"], 0), ("RemoteOutput", ["data"], "A" * 87_385), ("ExecTaken", ["frames"], 0),
    ("Samples", ["leases", 0, "compute_limit_permille"], 1001), ("Samples", ["leases", 0, "processes"], -1),
    ("Watch", ["interval_ms"], 99), ("LiveHello", ["ticket"], "x" * 201), ("Subscribe", ["topic"], "x" * 201),
])  # fmt: skip
def test_a_value_out_of_its_bounds_is_refused(name: str, path: list[Any], value: Any) -> None:
    message = golden(name)
    place: Any = message
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValidationError):
        MESSAGES[name].model_validate(message)


def test_a_lease_carries_a_hook_and_its_answer_only_when_there_is_one() -> None:
    desired = node.Desired.model_validate(golden("Desired"))
    told = desired.leases[0].model_copy(update={"hook": node.Hook.model_validate(golden("Hook"))})
    assert "hook" not in desired.leases[0].model_dump()
    assert node.DesiredLease.model_validate_json(told.model_dump_json()) == told
    report = node.Sync.model_validate(golden("Sync")).leases[0]
    answered = report.model_copy(update={"hook": node.HookDone.model_validate(golden("HookDone"))})
    assert "hook" not in report.model_dump()
    assert node.LeaseReport.model_validate_json(answered.model_dump_json()) == answered


def test_a_device_carries_its_card_only_when_it_is_one() -> None:
    sync = node.Sync.model_validate(golden("Sync"))
    card = node.CardReport.model_validate(golden("CardReport"))
    assert "card" not in sync.model_dump(mode="json")["devices"][0]
    with_card = sync.devices[0].model_copy(update={"card": card})
    assert node.DeviceReport.model_validate_json(with_card.model_dump_json()) == with_card


def test_a_sync_carries_its_host_only_where_that_is_taken() -> None:
    sync = node.Sync.model_validate(golden("Sync"))
    host = node.HostReport.model_validate(golden("HostReport"))
    assert "host" not in sync.model_dump(mode="json")
    with_host = sync.model_copy(update={"host": host})
    assert node.Sync.model_validate_json(with_host.model_dump_json()) == with_host
    assert "takes_host" not in node.Desired.model_validate(golden("Desired")).model_dump(mode="json")
