"""Who runs the embedded servers, and where: an unprivileged account, and folders that it can reach.

PostgreSQL refuses to run as root, so as root the servers drop to an account of their own. A clone may lie under a 0700
home: nothing here ever widens the mode of a folder that it did not make. Where the account cannot reach a folder, the
data lives in a store under /var/lib and the wanted folder gets a link to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import distribution, version
from pathlib import Path

ACCOUNT = "vxpu-db"
# Outside of every range that Debian, Ubuntu and systemd hand out (60706-61183 is "unused" in systemd's table) and
# below the slices' 61000.
FALLBACK_UID = 60720
USERADD_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
SOCKET_PATH_LIMIT = 107
STORE_LINK = "store"
STORE_OWNER = "data-folder"


class Unreachable(RuntimeError):
    """No folder can be found that the servers' account can use."""


@dataclass(frozen=True, slots=True)
class Account:
    """The user that the servers run as; `ids` is None when they run as the caller."""

    ids: tuple[int, int] | None
    # initdb looks its user up by name, so an account without an entry lends one for the first minute.
    initdb_ids: tuple[int, int] | None

    def give(self, path: Path) -> None:
        """Make one file or folder the account's own."""
        if self.ids is not None:
            os.chown(path, *self.ids, follow_symlinks=False)

    def give_tree(self, top: Path) -> None:
        self.give(top)
        for folder, folders, files in os.walk(top):
            for name in folders + files:
                self.give(Path(folder, name))


def server_account() -> Account:
    """The caller when it is unprivileged; as root `vxpu-db`, made where `useradd` exists, else a fixed number."""
    if os.geteuid() != 0:
        return Account(None, None)
    entry = _find_entry() or (_add_entry() and _find_entry())
    if entry:
        return Account((entry.pw_uid, entry.pw_gid), (entry.pw_uid, entry.pw_gid))
    lender = next((one for one in pwd.getpwall() if one.pw_name == "nobody"), None)
    if lender is None:
        raise Unreachable(f"initdb needs a user entry: add a system user named {ACCOUNT}")
    return Account((FALLBACK_UID, FALLBACK_UID), (lender.pw_uid, lender.pw_gid))


def _find_entry() -> pwd.struct_passwd | None:
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(ACCOUNT)
    return None


def _add_entry() -> bool:
    command = shutil.which("useradd", path=USERADD_PATH)
    if command is None:
        return False
    order = [command, "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"]
    # Another starter may win the race for the name, or /etc may be read-only: the look-up afterwards decides.
    subprocess.run([*order, ACCOUNT], capture_output=True, check=False)
    return True


def reaches(folder: Path, ids: tuple[int, int]) -> bool:
    """Whether `ids` (uid, gid) may pass through `folder` and all its parents, by their modes."""
    return all(_passable(step.stat(), ids) for step in (folder, *folder.parents))


def _passable(facts: os.stat_result, ids: tuple[int, int]) -> bool:
    if facts.st_uid == ids[0]:
        return bool(facts.st_mode & stat.S_IXUSR)
    if facts.st_gid == ids[1]:
        return bool(facts.st_mode & stat.S_IXGRP)
    return bool(facts.st_mode & stat.S_IXOTH)


def store_root() -> Path:
    """Where folders live that root's servers must reach: $VXPU_STORE_DIR or /var/lib."""
    return Path(os.environ.get("VXPU_STORE_DIR", "/var/lib"))


def place_for(wanted: Path, account: Account) -> Path:
    """The folder to use for `wanted` (absolute, resolved): itself when the account reaches it, else its store.

    A store whose link is gone belonged to a data folder that someone removed: it is emptied, as they meant.
    Call under a lock.
    """
    _make_folder(wanted)
    if account.ids is None or reaches(wanted, account.ids):
        return wanted
    store = store_root() / f"vxpu-{hashlib.sha256(bytes(wanted)).hexdigest()[:12]}"
    link = wanted / STORE_LINK
    if not link.is_symlink():
        shutil.rmtree(store, ignore_errors=True)
        link.symlink_to(store)
    _make_folder(store)
    (store / STORE_OWNER).write_bytes(bytes(wanted))
    if not reaches(store, account.ids):
        raise Unreachable(f"uid {account.ids[0]} can reach neither {wanted} nor {store}; set VXPU_STORE_DIR")
    if store.is_symlink() or store.stat().st_uid != os.geteuid():
        raise Unreachable(f"{store} is not root's own folder")
    return store


def forgotten_stores() -> list[Path]:
    """Stores of data folders in the temporary folder (tests') that were removed without `remove_place`."""
    if os.geteuid() != 0:  # only root has stores
        return []
    found = []
    for mark in store_root().glob(f"vxpu-*/{STORE_OWNER}"):
        wanted = Path(os.fsdecode(mark.read_bytes()))
        if wanted.is_relative_to(tempfile.gettempdir()) and not (wanted / STORE_LINK).is_symlink():
            found.append(mark.parent)
    return found


def _make_folder(path: Path) -> None:
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o711)


def remove_place(wanted: Path) -> None:
    """Remove a data folder and its store. No server may run on it."""
    wanted = wanted.resolve()
    link = wanted / STORE_LINK
    if link.is_symlink():
        shutil.rmtree(link.readlink(), ignore_errors=True)
    shutil.rmtree(wanted, ignore_errors=True)


def socket_folder(home: Path, account: Account) -> Path:
    """A 0700 folder of the account's own whose socket path stays within the kernel's 107 bytes."""
    folder = home / "sock"
    if len(bytes(folder / ".s.PGSQL.65535.lock")) > SOCKET_PATH_LIMIT:
        base = Path("/run") if os.geteuid() == 0 and os.access("/run", os.W_OK) else Path(tempfile.gettempdir())
        folder = base / f"vxpu-{hashlib.sha256(bytes(home)).hexdigest()[:12]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in {os.geteuid(), *(account.ids or ())}:
        raise Unreachable(f"{folder} belongs to someone else")
    folder.chmod(0o700)
    account.give(folder)
    return folder


def wheel_file(name: str, path: str) -> Path:
    """A file of an installed wheel, by its path inside site-packages."""
    found = Path(str(distribution(name).locate_file(path)))
    if not found.exists():
        raise Unreachable(f"{name} {version(name)} has no {path}")
    return found


def _content_mark(name: str, parts: list[str]) -> str:
    """Eight letters that stand for the contents of `parts`: builds of one version may differ."""
    record = (distribution(name).read_text("RECORD") or name).splitlines()
    wanted = sorted(line for line in record if line.startswith(tuple(parts)) and "__pycache__" not in line)
    return hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:8]


def readable_copy(name: str, parts: list[str], account: Account) -> Path:
    """A folder holding `parts` (paths inside site-packages) of a wheel, as the account can read it.

    Unprivileged: site-packages itself. As root: a copy of root's own under the store, made once per version, since the
    clone may be out of the account's reach and the wheel's files may be 0600 (umask 077).
    """
    if account.ids is None:
        return wheel_file(name, parts[0]).parents[len(Path(parts[0]).parts) - 1]
    target = store_root() / f"vxpu-{name}-{version(name)}-{_content_mark(name, parts)}"
    if target.is_dir():
        return target
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=store_root()))
    for part in parts:
        source, copy = wheel_file(name, part), draft / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    for folder, _, files in os.walk(draft):
        Path(folder).chmod(0o755)
        for file in files:
            Path(folder, file).chmod(0o755)
    try:
        draft.rename(target)
    except OSError:  # another starter was first
        shutil.rmtree(draft)
    return target
