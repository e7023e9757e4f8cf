"""A process of its own on simulated cards, told line by line what to evaluate.

It knows `cuda` (the driver API), `n` (pynvml), and in milliseconds of the card's time `launch` (a kernel), `spin`
(one, and wait for it) and `sleep`.
"""

import ctypes
import json
import os
import subprocess
import sys
from types import TracebackType
from typing import Self

import pynvml

from tests.native.cards import Cards
from tests.native.fake.driver import Driver

WORD = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry spin_1ms() { ret; }\n"


class GuestError(Exception):
    """What the guest's call raised: NVML's or the driver's code, or -1 with a text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Guest:
    """The other side: `guest("n.nvmlDeviceGetCount()")` gives the value."""

    def __init__(self, cards: Cards, *before: str, **extra: str) -> None:
        env = cards.env(None, **extra)
        command = [*before, sys.executable, "-m", "tests.native.fake.guest"]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(str(self("os.getpid()")))

    def tell(self, code: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()

    def answer(self) -> object:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise GuestError(-1, "the guest is gone")
        answer: dict[str, object] = json.loads(line)
        if "code" in answer:
            raise GuestError(int(str(answer["code"])), str(answer["text"]))
        return answer["value"]

    def __call__(self, code: str) -> object:
        self.tell(code)
        return self.answer()

    def number(self, code: str) -> int:
        value = self(code)
        assert isinstance(value, int)
        return value

    def fields(self, code: str) -> dict[str, int]:
        value = self(code)
        assert isinstance(value, dict)
        return value

    def code(self, call: str) -> int:
        """The code that the call fails with; 0 when it does not."""
        try:
            self(call)
        except GuestError as error:
            return error.code
        return 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


# The guest itself.


def _plain(value: object) -> object:
    if isinstance(value, ctypes.Structure):
        return {field[0]: _plain(getattr(value, field[0])) for field in value._fields_}
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str | dict | None) else repr(value)


def _launch(cuda: Driver, milliseconds: int) -> None:
    name = f"spin_{milliseconds}ms".encode()
    image = WORD.encode().replace(b"spin_1ms", name) + b"\0"
    kernel = cuda.out("cuModuleGetFunction", cuda.out("cuModuleLoadData", image), name)
    cuda.must("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, 0, None, None)


def _spin(cuda: Driver, milliseconds: int) -> None:
    _launch(cuda, milliseconds)
    cuda.synchronize()


def _world() -> dict[str, object]:
    cuda = Driver()
    return {
        "cuda": cuda,
        "ctypes": ctypes,
        "n": pynvml,
        "launch": lambda milliseconds: _launch(cuda, milliseconds),
        "os": os,
        "sleep": lambda milliseconds: cuda.call("vxfake_sleep_ns", milliseconds * 1_000_000) and None,
        "spin": lambda milliseconds: _spin(cuda, milliseconds),
    }


def _run(code: str, world: dict[str, object]) -> object:
    try:
        program = compile(code, "<test>", "eval")
    except SyntaxError:
        exec(code, world)  # noqa: S102 - the test's own words
        return None
    return eval(program, world)  # noqa: S307 - the test's own words


def main() -> None:
    world = _world()
    for line in sys.stdin:
        try:
            answer = {"value": _plain(_run(json.loads(line), world))}
        except Exception as error:  # noqa: BLE001 - any failure is an answer
            code = getattr(error, "code", getattr(error, "value", -1))
            answer = {"code": code, "text": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
