"""Stories of tests/native/fake/stories.py in processes of their own, on simulated cards."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.native.cards import Cards

ROOT = Path(__file__).resolve().parents[3]


class Guest:
    """One process that tells a story; its lines are read one by one."""

    def __init__(self, cards: Cards, name: str, *args: object, **env: str) -> None:
        words = [sys.executable, "-m", "tests.native.fake.stories", name, *map(json.dumps, args)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            words, cwd=ROOT, env=cards.env(None, **env), stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return json.loads(line)

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> list[Any]:
        """What it still says, once it has ended well."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]


def tell(cards: Cards, name: str, *args: object, **env: str) -> Any:
    """A story that is told in one go: its last line."""
    return Guest(cards, name, *args, **env).end()[-1]
