"""What every story needs: where it is registered, how it speaks, how it waits."""

import json
import sys
from collections.abc import Callable

STORIES: dict[str, Callable[..., object]] = {}


def story(function: Callable[..., object]) -> Callable[..., object]:
    STORIES[function.__name__] = function
    return function


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def pause(value: object) -> None:
    """Tells where it stands, then waits for the test to let it go on, or to kill it."""
    say(value)
    sys.stdin.readline()
