"""The requirement files agree with each other, and the package carries what it needs to run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements"
PINNED = {
    "agent": ["cli", "agent"],
    "server": ["cli", "server"],
    "demo": ["cli", "server", "agent"],
    "dev": ["cli", "server", "agent", "dev-extra"],
}


def bare(line: str) -> str:
    """The package's name as PyPI compares it."""
    return re.split(r"[\[=<>;~ ]", line.strip())[0].lower().replace("_", "-").replace(".", "-")


def asked(name: str) -> set[str]:
    lines = (REQUIREMENTS / f"{name}.in").read_text().splitlines()
    return {bare(line) for line in lines if line and not line.startswith(("#", "-r"))}


def pins(name: str) -> dict[str, str]:
    lines = (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
    return {bare(line): line for line in lines if line and not line.startswith("#")}


@pytest.mark.parametrize("name", PINNED)
def test_every_wish_is_pinned_to_one_version(name: str) -> None:
    found = pins(name)
    wanted = set().union(*(asked(part) for part in PINNED[name]))
    assert wanted - set(found) == set()
    assert [line for line in found.values() if "==" not in line] == []


@pytest.mark.parametrize("name", sorted(set(PINNED) - {"dev"}))
def test_what_runs_is_what_was_tested(name: str) -> None:
    tested = {key: line.partition(";")[0].strip() for key, line in pins("dev").items()}
    assert {key: line.partition(";")[0].strip() for key, line in pins(name).items()}.items() <= tested.items()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy: a build leaves folders behind."""
    top = tmp_path_factory.mktemp("wheel")
    skip = shutil.ignore_patterns(".git", ".venv", "var", "node_modules", "build", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, top / "source", ignore=skip)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(top), str(top / "source")], check=True)
    return zipfile.ZipFile(next(top.glob("*.whl")))


def test_the_wheel_has_both_commands_and_all_rooms(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    commands = next(wheel.read(name).decode() for name in names if name.endswith("entry_points.txt"))
    assert "vxpu = cli.__main__:main" in commands
    assert "vxpu-agent = agent.__main__:main" in commands
    rooms = {name.partition("/")[0] for name in names if name.endswith("__init__.py")}
    assert rooms == {
        "vxpu", "plumbing", "identity", "marketplace", "billing", "allocator", "agent", "cli", "config"
    }  # fmt: skip


def test_the_wheel_has_every_file_of_its_rooms(wheel: zipfile.ZipFile) -> None:
    rooms = ["vxpu", "plumbing", "identity", "marketplace", "billing", "allocator", "agent", "cli", "config"]
    listed = subprocess.run(["git", "ls-files", *rooms], cwd=ROOT, capture_output=True, text=True, check=True)
    present = {name for name in listed.stdout.split() if (ROOT / name).exists()}
    assert present - set(wheel.namelist()) == set()


def test_extras_are_the_requirement_files(wheel: zipfile.ZipFile) -> None:
    facts = next(wheel.read(name).decode() for name in wheel.namelist() if name.endswith("METADATA"))
    for extra, file in (("server", "server"), ("agent", "agent"), ("dev", "dev-extra")):
        names = re.findall(rf'^Requires-Dist: (.+); extra == "{extra}"', facts, flags=re.MULTILINE)
        assert {bare(name) for name in names} == asked(file)


def test_the_wheel_has_the_console_and_every_file_that_its_page_asks_for(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "config/ui/index.html" in names, "the console is not built: make ui"
    page = wheel.read("config/ui/index.html").decode()
    asked = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    assert any(address.endswith(".js") for address in asked)
    assert {f"config/ui/files{address}" for address in asked} - names == set()
    packed = {name for name in names if name.startswith("config/ui/files/") and name.endswith((".js", ".css"))}
    assert {f"{name}{ending}" for name in packed for ending in (".br", ".gz")} - names == set()
    assert [name for name in names if "node_modules" in name or name.startswith("frontend")] == []
