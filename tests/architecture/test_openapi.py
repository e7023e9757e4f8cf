"""The committed API description is the one that the code makes, and the code makes it without a warning."""

from __future__ import annotations

import json
from pathlib import Path

from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

COMMITTED = Path(__file__).parents[2] / "docs/openapi.json"


def test_committed_schema_is_current() -> None:
    GENERATOR_STATS.reset()
    made = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    assert json.loads(json.dumps(made)) == json.loads(COMMITTED.read_text())
    assert (list(GENERATOR_STATS._warn_cache), list(GENERATOR_STATS._error_cache)) == ([], [])
