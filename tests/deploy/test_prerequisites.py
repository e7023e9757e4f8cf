"""The look for Python, gcc and make: one clear line that names the packages, and nothing installed without root."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "deploy/prerequisites.sh"
TOOLS = ("sh", "id")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH with a shell and this Python only: no gcc, no make, no apt-get."""
    for name in TOOLS:
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "python3").symlink_to(sys.executable)
    return tmp_path


def look(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(path / "sh"), str(SCRIPT)], env={"PATH": str(path)}, capture_output=True, text=True, check=False
    )


def add(path: Path, name: str, text: str = "exit 0") -> None:
    (path / name).unlink(missing_ok=True)
    (path / name).write_text(f"#!{path}/sh\n{text}\n")
    (path / name).chmod(0o755)


def test_what_is_missing_is_named_in_one_line(path: Path) -> None:
    done = look(path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "missing on this machine: install it with: apt install gcc libc6-dev binutils make"
    ]


def test_a_complete_machine_gives_its_python(path: Path) -> None:
    for name in ("gcc", "ld", "make"):
        add(path, name)
    done = look(path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "python3\n", "")


def test_a_python_without_venv_names_its_own_package(path: Path) -> None:
    add(path, "gcc")
    add(path, "ld")
    add(path, "make")
    add(path, "python3", f'case "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"')
    done = look(path)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"python3.{sys.version_info.minor}-venv")


def test_a_python_that_is_too_old_is_passed_over(path: Path) -> None:
    for name in ("gcc", "ld", "make"):
        add(path, name)
    add(path, "python3", "exit 1")
    assert "python3 python3-venv" in look(path).stderr
    (path / "python3.12").symlink_to(sys.executable)
    assert look(path).stdout == "python3.12\n"
