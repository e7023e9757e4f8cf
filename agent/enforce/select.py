"""The strongest mode that this machine lets us enforce, or the one that the operator asked for."""

from __future__ import annotations

from agent.config import Config
from agent.enforce.advisory import open_advisory
from agent.enforce.launcher import Launcher
from agent.enforce.port import Enforcer, Unavailable
from agent.enforce.strict import open_strict


def open_enforcer(config: Config) -> Enforcer:
    """`config.mode` "auto", "strict" or "advisory". Raises Unavailable when strict was asked for and cannot be."""
    launcher = Launcher()
    if config.mode == "advisory":
        return open_advisory(config, launcher, why="asked for by the operator")
    try:
        return open_strict(config, launcher)
    except Unavailable as reason:
        if config.mode == "strict":
            raise
        return open_advisory(config, launcher, why=f"no kernel fence: {reason}")
