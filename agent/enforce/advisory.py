"""`limiter-advisory`: no fence of the kernel around CPU time and memory; the library in the guest is what limits.

A user namespace, where the machine allows one, still gives each slice its own file tree and process namespace. Without
it a program runs as the agent's own user with the library preloaded, and one slice at a time.
"""

from __future__ import annotations

import os
import secrets

from agent.config import Config
from agent.enforce.launcher import Launcher, LaunchFailed
from agent.enforce.port import SliceSpec
from agent.enforce.processes import ProcessGroup
from agent.enforce.slices import Means, Slices
from vxpu.states import Isolation


class Advisory(Slices):
    def group(self, lease_id: str) -> ProcessGroup:
        return ProcessGroup(self.config.run_dir / "slices" / lease_id)

    def strangers(self, known: set[str]) -> list[str]:
        folder = self.config.run_dir / "slices"
        return [path.name for path in folder.iterdir() if path.name not in known] if folder.is_dir() else []


def open_advisory(config: Config, launcher: Launcher, *, why: str) -> Advisory:
    """`why` strict could not be had; it goes into the detail that a buyer reads."""
    detail = f"{why}; user namespace: own file tree and processes, no kernel fence for CPU time and memory"
    means = Means(Isolation.ADVISORY, detail[:400], own_uid=False, namespaces=True, user_namespace=True, ledger=True)
    advisory = Advisory(config, launcher, means)
    trial = SliceSpec(
        lease_id=f"trial-{secrets.token_hex(4)}", token=0, uid=os.geteuid(), memory_mib=64, share_permille=100,
        compute_units=1,
    )  # fmt: skip
    try:
        advisory.prepare(trial, None)
    except (OSError, LaunchFailed) as error:
        detail = f"{why}; no user namespace ({error}): the library is preloaded by environment, nothing else confines"
        plain = Means(
            Isolation.ADVISORY, detail[:400], own_uid=False, namespaces=False, user_namespace=False, ledger=True
        )
        return Advisory(config, launcher, plain)
    finally:
        advisory.kill(trial)
        advisory.remove(trial)
    return advisory
