"""A guest on a simulated card: native/tests/cuda_memory.c, told what to do a line at a time."""

import subprocess
from pathlib import Path
from typing import Self

from tests.native.guests import BUILD

OK = 0
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NO_DEVICE = 100
INVALID_CONTEXT = 201


class Guest:
    """Answers each command with the words that it printed, the driver's code last."""

    def __init__(self, env: dict[str, str], program: Path = BUILD / "tests/cuda_memory") -> None:
        self.process = subprocess.Popen(
            [str(program)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.init = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def _answer(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def words(self, command: str) -> list[str]:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        assert answer, (command, self.process.wait(timeout=20))
        return answer

    def do(self, *commands: str) -> list[int]:
        """The code of each command."""
        return [int(self.words(command)[-1]) for command in commands]

    def figures(self, command: str) -> tuple[int, ...]:
        """What a command printed before its code, which is success."""
        *figures, code = self.words(command)
        assert code == "0", (command, code)
        return tuple(int(figure) for figure in figures)

    def leave(self) -> int:
        """End well; the exit status."""
        self.process.communicate(timeout=20)
        return self.process.returncode


def play(env: dict[str, str], *commands: str) -> list[int]:
    """One guest's whole life: the codes, after it ended well."""
    with Guest(env) as guest:
        assert guest.init == ["0"]
        codes = guest.do(*commands)
        assert guest.leave() == 0
    return codes
