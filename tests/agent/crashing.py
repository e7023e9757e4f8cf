"""``python -m tests.agent.crashing POINT CONFIG``: a real daemon that is killed (-9) when it first comes to POINT."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from agent.config import Config
from agent.daemon import Daemon


def main() -> None:
    point, values = sys.argv[1], json.loads(sys.argv[2])
    paths = {name: Path(values[name]) for name in ("state_dir", "run_dir", "token_file", "library")}

    def at(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(Daemon(Config(**{**values, **paths}), at=at).run())


if __name__ == "__main__":
    main()
