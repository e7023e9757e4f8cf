"""The file tree that a slice sees: nothing of the host but what is named here, and nothing of other slices.

`build` runs as process 1 of the slice's new mount and process namespaces (see launch.py). What the guest needs is
bound read-only at its own path, so a Python under a closed home folder works and paths mean the same inside and
outside; every folder above it is made anew, so a 0700 parent does not matter and its other children do not show.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from agent.enforce import linux

HOME = "/home/slice"
LIBRARY = "/run/vxpu/lib/libvxpu.so"
EMPTY_FILE = "/run/vxpu/empty"
VENDORS = "/etc/OpenCL/vendors"
FALLBACK_WORKDIR = "/workdir"
WRITABLE = ("/tmp", "/var/tmp", "/dev", "/home/slice", "/proc", "/run", "/sys", "/etc")  # noqa: S108 - inside a slice

_MS_RELATIME = 1 << 21
_ST_RELATIME = 4096
_KEPT_FLAGS = linux.MS_NOEXEC | 1024 | 2048  # noexec, noatime, nodiratime: same bits in statvfs and mount

_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt")
_ETC_FOLDERS = ("alternatives", "ca-certificates", "fonts", "ld.so.conf.d", "pki", "ssl", "terminfo")
_ETC_FILES = (
    "bash.bashrc", "gai.conf", "host.conf", "hosts", "inputrc", "ld.so.cache", "ld.so.conf", "localtime", "mime.types",
    "nsswitch.conf", "os-release", "profile", "protocols", "resolv.conf", "services", "timezone",
)  # fmt: skip
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


@dataclass(frozen=True, slots=True)
class Place:
    """All that a slice's namespaces are made of. Paths are the host's; plain values, so it travels as JSON.

    `ledger` is a folder where shims note themselves and what their dead programs spent; empty where a cgroup counts.
    """

    lease_id: str
    uid: int
    gid: int
    root: str
    scratch: str
    region: str
    region_target: str
    library: str
    icd: str
    icd_masks: tuple[str, ...]
    expose: tuple[str, ...]
    hide: tuple[str, ...]
    devices: tuple[str, ...]
    mounts: tuple[tuple[str, str, bool], ...]
    entrances: tuple[str, ...]
    namespaces: bool
    user_namespace: bool
    ledger: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
        }
        fields["mounts"] = tuple(tuple(mount) for mount in data["mounts"])
        return cls(**fields)


def build(place: Place) -> None:
    """Make the tree and step into it for good. Raises OSError; the caller then ends itself, and nothing is left."""
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    root = place.root
    linux.mount("tmpfs", root, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=16m,mode=755")
    _system(root)
    _etc(root, place)
    _devices(root, place)
    _private(root, place)
    _kernel(root)
    for path in outermost(place.expose):
        _bind(path, root + path)
    mask_icds(root, place)
    hide_below(root, place.hide, within=place.expose)
    _enter(root)


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths that no other of them contains, and that exist: each needs one bind."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        inside = any(path == other or path.startswith(other.rstrip("/") + "/") for other in (*kept, "/usr"))
        if not inside and Path(path).exists():
            kept.append(path)
    return kept


def hide_below(root: str, paths: Iterable[str], *, within: Iterable[str]) -> None:
    """Cover each path that shows through one of the bound folders `within` by an empty read-only folder.

    Elsewhere nothing of the host shows: the slice's own /run/vxpu stays although the agent's is to be hidden.
    """
    for path in shown(paths, within=within):
        target = root + path
        if Path(target).is_dir():
            linux.mount(
                "tmpfs", target, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_RDONLY, "size=4k,mode=555"
            )


def shown(paths: Iterable[str], *, within: Iterable[str]) -> list[str]:
    """Those of `paths` that lie in one of the folders `within`."""
    folders = [folder.rstrip("/") for folder in within]
    return [path for path in paths if any(path == folder or path.startswith(folder + "/") for folder in folders)]


def mask_icds(root: str, place: Place) -> None:
    """Empty the driver lists that a Python wheel brings along, or a slice would see its device twice."""
    for path in place.icd_masks:
        if os.path.lexists(root + path):
            _bind(root + EMPTY_FILE, root + path)


def workdir_target(cwd: str) -> str:
    """Where the caller's working folder appears: at its own path, unless that path is the slice's own to write."""
    own = any(cwd == base or cwd.startswith(base + "/") for base in WRITABLE)
    return FALLBACK_WORKDIR if own or cwd == "/" else cwd


def _system(root: str) -> None:
    for name in _SYSTEM:
        source = Path("/") / name
        if source.is_symlink():
            Path(root, name).symlink_to(source.readlink())
        elif source.is_dir():
            _bind(str(source), f"{root}/{name}")


def _etc(root: str, place: Place) -> None:
    etc = Path(root, "etc")
    etc.mkdir()
    for name in _ETC_FILES:
        source = Path("/etc", name)
        if source.is_file():
            (etc / name).write_bytes(source.read_bytes())
    for name in _ETC_FOLDERS:
        if Path("/etc", name).is_dir():
            _bind(f"/etc/{name}", f"{etc}/{name}")
    (etc / "passwd").write_text(f"root:x:0:0::/:/usr/sbin/nologin\nslice:x:{place.uid}:{place.gid}::{HOME}:/bin/sh\n")
    (etc / "group").write_text(f"root:x:0:\nslice:x:{place.gid}:\n")
    if place.library:
        (etc / "ld.so.preload").write_text(LIBRARY + "\n")
    vendors = Path(root + VENDORS)
    vendors.mkdir(parents=True)
    if place.icd:
        (vendors / "vxpu.icd").write_text(place.icd + "\n")


def _devices(root: str, place: Place) -> None:
    dev = f"{root}/dev"
    Path(dev).mkdir()
    linux.mount("tmpfs", dev, "tmpfs", linux.MS_NOSUID, "size=64k,mode=755")
    for name in (*_DEVICES, *place.devices):
        if Path("/dev", name).exists():
            shown = Path(name).name if name.startswith("/") else name
            _bind(str(Path("/dev", name)), f"{dev}/{shown}", read_only=False)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
                         ("stderr", "/proc/self/fd/2"), ("ptmx", "pts/ptmx")):  # fmt: skip
        Path(dev, name).symlink_to(target)
    Path(dev, "pts").mkdir()
    linux.mount("devpts", f"{dev}/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, "newinstance,ptmxmode=0666")
    _bind(f"{place.scratch}/shm", f"{dev}/shm", read_only=False)


def _private(root: str, place: Place) -> None:
    for name, target in (("tmp", "/tmp"), ("tmp", "/var/tmp"), ("home", HOME)):  # noqa: S108 - inside a slice
        _bind(f"{place.scratch}/{name}", root + target, read_only=False)
    Path(root + FALLBACK_WORKDIR).mkdir()
    Path(root, "run/vxpu/lib").mkdir(parents=True)
    Path(root + EMPTY_FILE).touch(0o644)
    if place.library:
        _bind(place.library, root + LIBRARY)
    _bind(place.region, root + place.region_target, read_only=False)
    for source, target, read_only in place.mounts:
        _bind(source, root + target, read_only=read_only)


def _kernel(root: str) -> None:
    Path(root, "proc").mkdir()
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("proc", f"{root}/proc", "proc", flags, "hidepid=invisible")
    for part in ("devices", "bus", "class"):  # the processor's and the cards' topology; no cgroups, no firmware
        if Path("/sys", part).is_dir():
            _bind(f"/sys/{part}", f"{root}/sys/{part}")


def _bind(source: str, target: str, *, read_only: bool = True) -> None:
    """Bind a file or folder; what the host's own mount forbids stays forbidden (a user namespace may not lift it)."""
    if Path(source).is_dir():
        Path(target).mkdir(parents=True, exist_ok=True)
    else:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        if not Path(target).exists():
            Path(target).touch(0o644)
    linux.mount(source, target, None, linux.MS_BIND)
    kept = os.statvfs(target).f_flag
    flags = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_NOSUID | (kept & (_KEPT_FLAGS | linux.MS_NODEV))
    flags |= _MS_RELATIME if kept & _ST_RELATIME else 0
    is_device = Path(source).is_char_device()
    flags |= 0 if is_device else linux.MS_NODEV
    linux.mount(None, target, None, flags | (linux.MS_RDONLY if read_only else kept & linux.MS_RDONLY))


def _enter(root: str) -> None:
    os.chdir(root)
    linux.pivot_root(".", ".")
    linux.unmount(".")  # the host's root, stacked on ours by the call above
    os.chdir("/")
