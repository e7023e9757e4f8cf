"""The systemd units run modules that exist, as nobody special."""

from __future__ import annotations

import configparser
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("vxpu-*.service"))
SERVER = [unit for unit in UNITS if "agent" not in unit.name]


def read(unit: Path) -> configparser.RawConfigParser:
    # systemd lets a key appear twice; what these tests read appears once.
    parser = configparser.RawConfigParser(strict=False, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(unit)
    return parser


def test_each_server_process_has_a_unit() -> None:
    names = {unit.stem for unit in SERVER}
    assert names == {"vxpu-prepare", "vxpu-web", "vxpu-sockets", "vxpu-worker", "vxpu-beat"}


@pytest.mark.parametrize("unit", SERVER, ids=lambda unit: unit.stem)
def test_units_start_what_exists_without_privileges(unit: Path) -> None:
    service = read(unit)["Service"]
    command = service["ExecStart"]
    modules = re.findall(r"-m (\w+)", command) + re.findall(r"\bconfig\.\w+", command)
    assert modules or "manage.py init" in command
    assert all(find_spec(module) for module in modules)
    assert service["User"] == "vxpu"
    assert service["NoNewPrivileges"] == "yes"
    assert service["CapabilityBoundingSet"] == ""


@pytest.mark.parametrize("unit", SERVER, ids=lambda unit: unit.stem)
def test_units_name_only_units_that_exist(unit: Path) -> None:
    wanted = read(unit)["Unit"].get("Requires", "").split()
    assert all((unit.parent / name).exists() for name in wanted)
