"""The windows that the node metered, by its own word: `vxpu-agent status --json`, as its operator reads it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.programs import ROOT
from vxpu.ids import decode


@dataclass(frozen=True)
class NodeCount:
    """Windows that the node closed for one lease, and those of them that wait in its spool."""

    closed: int
    unsent: int

    @property
    def sent(self) -> int:
        """What the server has acknowledged to the node."""
        return self.closed - self.unsent


def node_count(agent_state: Path, lease: str) -> NodeCount:
    """The node's own count for ``lse_...``; zero windows for a lease that it does not know."""
    argv = [sys.executable, "-m", "agent", "status", "--state-dir", str(agent_state), "--json"]
    told = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    leases: dict[str, Any] = json.loads(told.stdout)["leases"] if told.returncode == 0 else {}
    known = leases.get(lease) or leases.get(str(decode("lse", lease))) or {}
    return NodeCount(int(known.get("windows_closed", 0)), int(known.get("windows_unsent", 0)))
