"""A CDI file for each lease: a container engine that reads it gives a container what the lease's slice has.

One file, one device, named by the lease: ``docker run --device vxpu.local/slice=<lease> --user <uid>``. Format:
github.com/cncf-tags/container-device-interface, SPEC.md; 0.6.0 is the first version with annotations.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent import shm
from agent.config import Config
from agent.enforce.modes.port import Grant, Mount
from agent.enforce.place import LIBRARY
from agent.state import write_whole

VERSION = "0.6.0"
SYSTEM_FOLDER = Path("/var/run/cdi")
CLASS = "slice"
REAL_DRIVER = "/run/vxpu/lib/real/libcuda.so.1"
PRELOAD = "/etc/ld.so.preload"
DRIVER_FOLDERS = (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib/aarch64-linux-gnu"), Path("/usr/lib64"))
# What programs and libcuda itself load of the driver beside libcuda, by name.
DRIVER_LIBRARIES = ("libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4",
                    "libnvidia-gpucomp.so")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Injection:
    """What goes into every container: paths of the host. `shim` stands where `driver` is looked for."""

    library: Path
    shim: Path
    driver: Path | None

    def mounts(self, preload: Path) -> Iterable[Mount]:
        """Only what exists; without the library nothing is to be preloaded."""
        if self.library.exists():
            yield Mount(str(self.library), LIBRARY)
            yield Mount(str(preload), PRELOAD)
        if self.driver is None:
            return
        yield Mount(str(self.driver.resolve()), REAL_DRIVER)
        first = self.shim if self.shim.exists() else self.driver.resolve()
        yield Mount(str(first), str(self.driver))
        for name in DRIVER_LIBRARIES:
            found = self.driver.with_name(name)
            if found.exists():
                yield Mount(str(found.resolve()), str(found))


def open_cdi(config: Config) -> CdiFiles:
    """The operator's folder, or the one where engines look, or one of our own that an engine can be pointed to."""
    usual = SYSTEM_FOLDER.is_dir() and os.geteuid() == 0
    folder = Path(config.cards.cdi) if config.cards.cdi else SYSTEM_FOLDER if usual else config.run_dir / "cdi"
    searched = [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    shim = config.library.parent / "shim" / "libcuda.so.1"
    injection = Injection(config.library, shim, find_driver([*searched, *DRIVER_FOLDERS]))
    return CdiFiles(folder, injection, dns=config.cards.dns)


def find_driver(folders: Iterable[Path] = DRIVER_FOLDERS) -> Path | None:
    """The host's libcuda.so.1; None without a driver."""
    return next((path for folder in folders if (path := folder / "libcuda.so.1").exists()), None)


class CdiFiles:
    """The files of this node's leases in one folder. Every method may be repeated; each raises OSError."""

    def __init__(self, folder: Path, injection: Injection, *, dns: str = "local") -> None:
        self.vendor = f"vxpu.{dns}"
        self._folder = folder
        self._injection = injection
        self._preload = folder / f"{self.vendor}-ld.so.preload"  # no .json: engines pass it over

    @property
    def kind(self) -> str:
        return f"{self.vendor}/{CLASS}"

    def name(self, lease_id: str) -> str:
        """How a container engine is asked for the lease's slice."""
        return f"{self.kind}={lease_id}"

    def write(self, lease_id: str, *, uid: int, region: Path, grant: Grant) -> Path:
        """Whole or not at all; a later call replaces it, for containers that start after it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._preload.exists() or self._preload.read_text() != LIBRARY + "\n":
            write_whole(self._preload, LIBRARY + "\n", mode=0o644)
        spec = self._spec(lease_id, uid=uid, region=region, grant=grant)
        path = self._path(lease_id)
        write_whole(path, json.dumps(spec, indent=2) + "\n", mode=0o644)
        return path

    def remove(self, lease_id: str) -> None:
        self._path(lease_id).unlink(missing_ok=True)

    def remove_strangers(self, known: set[str]) -> list[str]:
        """Leases whose file outlived them; half-written files go too. Files of others are not touched."""
        if not self._folder.is_dir():
            return []
        prefix = f"{self.vendor}-{CLASS}_"
        removed = []
        for path in self._folder.glob(f"{prefix}*"):
            lease_id = path.name.removeprefix(prefix).removesuffix(".new").removesuffix(".json")
            if lease_id not in known or path.suffix == ".new":
                path.unlink(missing_ok=True)
                removed.append(lease_id)
        return sorted(removed)

    def _path(self, lease_id: str) -> Path:
        return self._folder / f"{self.vendor}-{CLASS}_{lease_id}.json"

    def _spec(self, lease_id: str, *, uid: int, region: Path, grant: Grant) -> dict[str, Any]:
        nodes, files = _nodes(grant)
        mounts = [
            *self._injection.mounts(self._preload), Mount(str(region), f"{shm.REGION_ROOT}/{uid}", read_only=False),
            *files, *grant.mounts,
        ]  # fmt: skip
        environment = {"VXPU_LEASE": lease_id, **grant.environment}
        edits: dict[str, Any] = {
            "env": [f"{name}={value}" for name, value in sorted(environment.items())],
            "mounts": [_mount(mount) for mount in mounts],
        }
        if nodes:  # an empty list is one that some engines refuse
            edits["deviceNodes"] = nodes
        return {
            "cdiVersion": VERSION,
            "kind": self.kind,
            "annotations": {f"{self.vendor}/uid": str(uid), f"{self.vendor}/isolation": grant.isolation.value},
            "devices": [{"name": lease_id, "containerEdits": edits}],
        }


def _nodes(grant: Grant) -> tuple[list[dict[str, Any]], list[Mount]]:
    """Device nodes, and what stands for one but is a file: a simulated card."""
    nodes, files = [], []
    for name in grant.nodes:
        path = Path("/dev", name)
        target = str(path) if path.is_relative_to("/dev") else f"/dev/{path.name}"
        if path.is_char_device():
            number = path.stat().st_rdev
            node = {
                "path": target,
                "type": "c",
                "major": os.major(number),
                "minor": os.minor(number),
                "permissions": "rw",
            }
            nodes.append(node if str(path) == target else {**node, "hostPath": str(path)})
        elif path.exists() and stat.S_ISREG(path.stat().st_mode):
            files.append(Mount(str(path), target, read_only=False))
    return nodes, files


def _mount(mount: Mount) -> dict[str, Any]:
    options = ["rbind", "nosuid", "nodev", "ro" if mount.read_only else "rw"]
    return {"hostPath": mount.source, "containerPath": mount.target, "options": options}
