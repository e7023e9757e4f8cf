"""The console's types are those of the committed API description."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRONTEND = ROOT / "frontend"


def test_generated_types_are_current(tmp_path: Path) -> None:
    assert (FRONTEND / "node_modules").is_dir(), "the console's packages are not installed: make ui"
    made = tmp_path / "schema.d.ts"
    generator = [FRONTEND / "node_modules/openapi-typescript/bin/cli.js", ROOT / "docs/openapi.json", "--output", made]
    command = [ROOT / "deploy/node.sh", sys.executable, "node", *generator]
    subprocess.run([str(word) for word in command], check=True, capture_output=True, cwd=FRONTEND)
    assert made.read_text() == (FRONTEND / "src/lib/schema.d.ts").read_text(), "not current: make types"
