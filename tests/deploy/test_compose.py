"""The compose file: valid by the specification's own schema, no secret has a default, and every command exists."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
OURS = {name: one for name, one in SERVICES.items() if "build" in one}
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN")


def words(service: dict[str, Any]) -> list[str]:
    """Every word that the service's command and health check run."""
    return [str(word) for part in (service["command"], service["healthcheck"]["test"]) for word in part]


def test_it_follows_the_compose_specification() -> None:
    # The schema ships with check-jsonschema: https://github.com/compose-spec/compose-spec (Apache-2.0).
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_part_of_the_market_is_there() -> None:
    assert {"postgres", "valkey", "prepare", "web", "sockets", "worker", "beat", "agent"} == set(SERVICES)


def test_no_secret_has_a_default() -> None:
    used = re.findall(r"\$\{(\w+)([^}]*)\}", COMPOSE.read_text())
    secrets = {name: rest for name, rest in used if SECRET.search(name)}
    assert len(secrets) >= 6
    assert {name: rest for name, rest in secrets.items() if not rest.startswith(":?")} == {}


def test_images_are_named_by_version() -> None:
    for service in SERVICES.values():
        assert re.search(r":\d+(\.\d+)*$", service["image"]), service["image"]


def test_only_the_agent_is_privileged() -> None:
    assert [name for name, one in SERVICES.items() if one.get("privileged")] == ["agent"]
    for name in ("prepare", "web", "sockets", "worker", "beat", "valkey"):
        assert SERVICES[name]["cap_drop"] == ["ALL"], name


def test_only_the_preparation_knows_the_owners_password() -> None:
    holders = {name for name, one in SERVICES.items() if "VXPU_OWNER_PASSWORD" in str(one.get("environment"))}
    assert holders == {"postgres", "prepare"}


def test_ports_are_on_loopback_only() -> None:
    ports = [port for one in SERVICES.values() for port in one.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("name", sorted(set(OURS) - {"prepare"}))
def test_every_service_has_a_health_check(name: str) -> None:
    assert OURS[name]["healthcheck"]["test"]


@pytest.mark.parametrize("name", sorted(set(OURS) - {"prepare", "agent"}))
def test_commands_name_modules_that_exist(name: str) -> None:
    text = " ".join(words(OURS[name]))
    targets = re.findall(r"\bconfig(?:\.\w+)+(?::\w+)?", text)
    assert targets
    for target in targets:
        module, _, attribute = target.partition(":")
        found = importlib.import_module(module)
        assert not attribute or hasattr(found, attribute), target


@pytest.mark.parametrize("command", [OURS["agent"]["command"], OURS["agent"]["healthcheck"]["test"][1:]])
def test_the_agent_takes_the_flags_that_it_is_given(command: list[str]) -> None:
    program, verb, *rest = command
    assert program == "vxpu-agent"
    shown = subprocess.run(
        [sys.executable, "-m", "agent", verb, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [flag for flag in rest if flag.startswith("--") and flag not in shown.stdout] == []


def test_the_image_has_what_each_service_imports() -> None:
    copied = set(re.findall(r"^COPY (\w+) ", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE))
    assert copied >= {"vxpu", "plumbing", "identity", "allocator", "billing", "marketplace", "config", "agent", "cli"}
