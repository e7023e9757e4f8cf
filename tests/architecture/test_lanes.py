"""The lanes together run every test once."""

from __future__ import annotations

import re
from pathlib import Path

from tests.lanes import ALONE

ROOT = Path(__file__).parents[2]


def test_tests_that_run_alone_are_where_their_lane_looks() -> None:
    marked = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"\bmark\.(stack|native)\b", text := path.read_text()) and "mark.soak" not in text
    ]
    assert len(marked) > 6
    assert [path for path in marked if not path.startswith(tuple(f"{folder}/" for folder in ALONE))] == []


def test_journeys_are_where_their_lane_looks() -> None:
    folder = ROOT / "tests/e2e/browser"
    journeys = {path for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.browser" in path.read_text()}
    assert {path for path in journeys - {Path(__file__)} if folder not in path.parents} == set()
    assert set(folder.glob("test_*.py")) <= journeys
