"""`limiter-strict`: an own uid, a control group and namespaces for each slice. Needs root."""

from __future__ import annotations

import os
import secrets

from agent.config import UID_LAST, Config
from agent.enforce.cgroup import Cgroup, CgroupHome, NoCgroups, find_home
from agent.enforce.launcher import Launcher, LaunchFailed
from agent.enforce.port import SliceSpec, Unavailable
from agent.enforce.slices import Means, Slices
from vxpu.states import Isolation


class Strict(Slices):
    def __init__(self, config: Config, launcher: Launcher, home: CgroupHome) -> None:
        detail = f"own uid, cgroup v{home.version} (cpu, memory, pids, freeze), mount, process and IPC namespaces"
        means = Means(Isolation.STRICT, detail, own_uid=True, namespaces=True, user_namespace=False, ledger=False)
        super().__init__(config, launcher, means)
        self.home = home

    def group(self, lease_id: str) -> Cgroup:
        return self.home.slice(lease_id)

    def strangers(self, known: set[str]) -> list[str]:
        return [name for name in self.home.names() if name not in known]

    def shut_down(self) -> None:
        super().shut_down()
        self.home.close()


def open_strict(config: Config, launcher: Launcher) -> Strict:
    """Try the whole of it on a slice that nobody bought. Raises Unavailable with what is missing."""
    if os.geteuid() != 0:
        raise Unavailable("the agent does not run as root")
    try:
        strict = Strict(config, launcher, find_home(config.cgroup_name))
    except NoCgroups as error:
        raise Unavailable(str(error)) from error
    trial = SliceSpec(
        lease_id=f"trial-{secrets.token_hex(4)}", token=0, uid=UID_LAST + 1, memory_mib=64, share_permille=100,
        compute_units=1,
    )  # fmt: skip
    try:
        strict.prepare(trial, None)
    except (OSError, LaunchFailed) as error:
        raise Unavailable(f"namespaces or cgroups do not work here: {error}") from error
    finally:
        strict.kill(trial)
        strict.remove(trial)
    return strict
