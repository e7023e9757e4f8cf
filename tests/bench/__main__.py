"""`python -m tests.bench [NAME ...] [--quick]`: every benchmark in turn, or those whose name holds one of the words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    options = [word for word in words if word.startswith("-")]
    failed = []
    for file in sorted(HERE.glob("bench_*.py")):
        if names and not any(name in file.stem for name in names):
            continue
        print(f"--- {file.stem} ---", flush=True)
        command = [sys.executable, "-m", f"tests.bench.{file.stem}", *options]
        if subprocess.run(command, cwd=HERE.parents[1], check=False).returncode:
            failed.append(file.stem)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
