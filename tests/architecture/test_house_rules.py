"""What import-linter cannot show: the rules of the house that are about text, tables and processes."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).parents[2]
ROOMS = ("config", "marketplace", "billing", "allocator", "identity", "plumbing", "vxpu", "agent", "cli")
TABLE_ROOMS = ("marketplace", "billing", "allocator", "identity")
FILE_LINES = 400
FUNCTION_LINES = 80


def python_files(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        yield from (path for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts)


def calls(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of each call in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def offenders(rooms: tuple[str, ...], endings: tuple[str, ...], *, allowed: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in python_files(*rooms)
        if not str(path.relative_to(ROOT)).startswith(allowed or ("\0",))
        for line, name in calls(path)
        if name.endswith(endings)
    ]


def test_no_relation_crosses_a_room() -> None:
    crossing = [
        f"{model._meta.label}.{field.name} -> {field.related_model._meta.label}"
        for room in TABLE_ROOMS
        for model in apps.get_app_config(room).get_models()
        for field in model._meta.get_fields()
        if field.is_relation and not field.auto_created and field.related_model is not None
        if field.related_model._meta.app_label not in {room, "auth", "contenttypes"}
    ]
    assert crossing == []


def test_nobody_reaches_into_another_room_by_name() -> None:
    assert offenders(TABLE_ROOMS, ("apps.get_model",)) == []


def test_only_plumbing_hooks_on_commit() -> None:
    assert offenders(ROOMS, (".on_commit",), allowed=("plumbing/",)) == []


def test_services_never_send_tasks() -> None:
    assert offenders(ROOMS, (".delay", ".apply_async", ".send_task"), allowed=("plumbing/", "config/")) == []


def test_no_clock_is_read_below_the_doors() -> None:
    below = tuple(f"{room}/{layer}" for room in TABLE_ROOMS for layer in ("services", "selectors", "engine", "rating"))
    readings = [
        found
        for found in offenders(TABLE_ROOMS, ("timezone.now", "datetime.now", "datetime.utcnow", "time.time"))
        if found.startswith(below)
    ]
    assert readings == []


@pytest.mark.parametrize("word", ["demo"])
def test_no_branch_of_the_product_reads_a_demo_flag(word: str) -> None:
    reading = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files(*ROOMS)
        if "config/demo" not in str(path)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.If | ast.IfExp | ast.While) and word in ast.unparse(node.test).lower()
    ]
    assert reading == []


def test_the_product_never_mentions_the_planning_papers() -> None:
    papers = "../" + "shared"
    tracked = subprocess.run(["git", "grep", "-lF", papers], cwd=ROOT, capture_output=True, text=True, check=False)
    assert tracked.stdout.split() == []


def test_no_file_names_a_registry() -> None:
    hosts = ["pypi." + "org", "registry.npmjs" + ".org", "files.pythonhosted" + ".org", "--index" + "-url"]
    found = subprocess.run(
        ["git", "grep", "-lF", *[part for host in hosts for part in ("-e", host)]],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout.split() == []


def test_the_lock_of_the_console_says_what_but_not_from_where() -> None:
    lock = json.loads((ROOT / "frontend/package-lock.json").read_text())["packages"]
    packages = {name: facts for name, facts in lock.items() if name and not facts.get("link")}
    assert len(packages) > 100
    assert [name for name, facts in packages.items() if "resolved" in facts] == []
    assert [name for name, facts in packages.items() if not facts.get("integrity", "").startswith("sha512-")] == []


def test_the_console_names_exact_versions() -> None:
    asked = json.loads((ROOT / "frontend/package.json").read_text())
    wishes = {**asked["dependencies"], **asked["devDependencies"]}
    assert {name: wish for name, wish in wishes.items() if not re.fullmatch(r"\d+\.\d+\.\d+", wish)} == {}


@pytest.mark.parametrize("room", ["agent", "cli"])
def test_node_side_rooms_import_without_the_server(room: str) -> None:
    blocked = ("django", "rest_framework", "celery", "channels", "psycopg", "config", "plumbing", "allocator")
    program = (
        "import sys, pkgutil, importlib\n"
        f"sys.modules.update(dict.fromkeys({blocked!r}))\n"
        f"package = importlib.import_module({room!r})\n"
        f"[importlib.import_module(m.name) for m in pkgutil.walk_packages(package.__path__, {room!r} + '.')\n"
        "  if not m.name.endswith('__main__')]\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_rooms_have_no_junk_drawer() -> None:
    drawers = {"utils", "common", "helpers", "misc"}
    found = [
        str(path.relative_to(ROOT)) for path in python_files(*ROOMS, "tests") if drawers & {path.stem, path.parent.name}
    ]
    assert found == []


def test_files_and_functions_stay_readable() -> None:
    long = []
    for path in python_files(*ROOMS):
        text = path.read_text()
        if len(text.splitlines()) > FILE_LINES:
            long.append(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines")
    assert long == []
