"""The verbs of a slice over a group of processes and, where there are any, namespaces."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent import shm
from agent.config import Config, interpreter_paths
from agent.enforce import linux
from agent.enforce.cgroup import Cgroup, CgroupSample, signal_member, signal_members
from agent.enforce.launcher import Launcher
from agent.enforce.place import Place
from agent.enforce.port import Holder, SliceCard, SliceSpec, end_note
from agent.host import start_ticks
from agent.region import CardLimits, Region, RegionLimits, card_uuid
from vxpu.states import Isolation
from vxpu.units import MIB, WHOLE_PERMILLE

SCRATCH_INODES = 200_000


@dataclass(frozen=True, slots=True)
class Means:
    """What this machine lets us use."""

    isolation: Isolation
    detail: str
    own_uid: bool
    namespaces: bool
    user_namespace: bool
    ledger: bool


class Slices:
    """Implements `port.Enforcer`; a mode's own file decides the means and finds the group of a slice."""

    def __init__(self, config: Config, launcher: Launcher, means: Means) -> None:
        self.config = config
        self.launcher = launcher
        self.means = means
        self.isolation = means.isolation
        self.detail = means.detail
        self.own_uid = means.own_uid
        self.has_namespaces = means.namespaces
        self.uid = os.geteuid()
        self.root = config.run_dir / "root"
        self.root.mkdir(parents=True, exist_ok=True)

    def group(self, lease_id: str) -> Cgroup:
        raise NotImplementedError

    def strangers(self, known: set[str]) -> list[str]:
        raise NotImplementedError

    def prepare(self, spec: SliceSpec, held: Holder | None) -> Holder:
        group = self.group(spec.lease_id)
        holds = held is not None and self.holds(spec, held)
        if not holds and group.exists():
            group.kill()  # a crash left it half made, or its namespaces died: nothing in it is of use
        if not holds:
            self.region(spec).remove()  # whatever an earlier slice of this uid left behind
        group.create()
        group.limit(**self._limits(spec))
        end_note(self.config.run_dir, spec.lease_id).unlink(missing_ok=True)
        self.region(spec).create(self._region_limits(spec))
        self._make_scratch(spec)
        return held if held is not None and holds else self._hold(spec)

    def _hold(self, spec: SliceSpec) -> Holder:
        if not self.means.namespaces:
            return Holder(0, 0)
        holder = Holder(*self.launcher.hold(self.place(spec)))
        if self.means.ledger:
            (self.folder(spec) / "holder").write_text(f"{holder.pid} {holder.start_ticks}")
        return holder

    def holds(self, spec: SliceSpec, held: Holder) -> bool:
        if not self.means.namespaces:
            return True
        try:
            return start_ticks(held.pid) == held.start_ticks and self.group(spec.lease_id).contains(held.pid)
        except (FileNotFoundError, ProcessLookupError):
            return False

    def resize(self, spec: SliceSpec) -> bool:
        self.region(spec).write(self._region_limits(spec))
        if self.means.own_uid:
            with contextlib.suppress(OSError):  # files already in it keep it larger
                self._mount_scratch(spec, linux.MS_REMOUNT)
        return self.group(spec.lease_id).limit(**self._limits(spec))

    def close_gate(self, spec: SliceSpec, *, closed: bool) -> None:
        self.region(spec).pause(paused=closed)
        self.group(spec.lease_id).freeze(frozen=closed)

    def terminate(self, spec: SliceSpec, *, reason: str) -> None:
        self._note_end(spec, reason)
        # The device stays open during the grace: a program that saves its state on SIGTERM must be able to read it.
        group = self.group(spec.lease_id)
        signal_members(group, signal.SIGTERM)
        with contextlib.suppress(FileNotFoundError):  # the group is gone, and everything in it
            group.freeze(frozen=False)  # a closed gate would keep the signal from being seen

    def cut_off(self, spec: SliceSpec, *, reason: str) -> None:
        """End it behind its closed gate: nothing of it runs again."""
        self._note_end(spec, reason)
        self.group(spec.lease_id).kill()

    def _note_end(self, spec: SliceSpec, reason: str) -> None:
        note = end_note(self.config.run_dir, spec.lease_id)
        note.parent.mkdir(exist_ok=True)  # a slice that was never made, or went with an agent that stopped
        note.write_text(reason)

    def kill(self, spec: SliceSpec) -> None:
        self.region(spec).close()
        self.group(spec.lease_id).kill()

    def remove(self, spec: SliceSpec) -> bool:
        group = self.group(spec.lease_id)
        if group.processes() or not group.remove():
            return False
        self.region(spec).remove()
        scratch = self.folder(spec) / "scratch"
        if scratch.is_mount():
            linux.unmount(str(scratch))
        shutil.rmtree(self.folder(spec), ignore_errors=True)
        return True

    def is_populated(self, spec: SliceSpec) -> bool:
        return bool(self.group(spec.lease_id).processes())

    def processes(self, spec: SliceSpec) -> list[int]:
        return self.group(spec.lease_id).processes()

    def end_process(self, spec: SliceSpec, pid: int, started: int) -> bool:
        return signal_member(self.group(spec.lease_id), pid, signal.SIGKILL, started=started)

    def sample(self, spec: SliceSpec) -> CgroupSample:
        return self.group(spec.lease_id).sample()

    def region(self, spec: SliceSpec) -> Region:
        if not self.means.namespaces:  # the one path that the library finds without a mount namespace
            return Region(Path(f"{shm.DEV_REGION_PREFIX}{spec.uid}"), uid=spec.uid)
        # Without root all slices have the agent's uid: the namespace then makes the fixed path another one in each.
        name = str(spec.uid) if self.means.own_uid else spec.lease_id
        return Region(self.config.run_dir / "uid" / name, uid=spec.uid)

    def start(self, spec: SliceSpec, holder: Holder, program: dict[str, Any], descriptors: list[int]) -> None:
        body = {
            **program,
            "place": self.place(spec).to_json(),
            "holder": holder.pid,
            "isolation": (self.isolation if spec.card is None else spec.card.isolation).value,
            "end_note": str(end_note(self.config.run_dir, spec.lease_id)),
        }
        self.launcher.start(body, descriptors)

    def discard(self, name: str) -> bool:
        """End a slice of which nothing but its group is known."""
        group = self.group(name)
        group.kill()
        scratch = self.config.run_dir / "slices" / name / "scratch"
        if scratch.is_mount():
            linux.unmount(str(scratch))
        shutil.rmtree(scratch.parent, ignore_errors=True)
        return group.remove()

    def shut_down(self) -> None:
        self.launcher.close()

    def folder(self, spec: SliceSpec) -> Path:
        return self.config.run_dir / "slices" / spec.lease_id

    def place(self, spec: SliceSpec) -> Place:
        library = self.config.library
        return Place(
            lease_id=spec.lease_id,
            uid=spec.uid,
            gid=spec.uid,
            root=str(self.root),
            scratch=str(self.folder(spec) / "scratch"),
            region=str(self.region(spec).folder),
            region_target=f"{shm.REGION_ROOT}/{spec.uid}",
            library=str(library) if library.exists() else "",
            icd=spec.icd,
            icd_masks=tuple(str(path) for path in bundled_icds()),
            expose=tuple(str(path) for path in (*interpreter_paths(), *self.config.expose)),
            hide=tuple(str(path) for path in (self.config.state_dir, self.config.run_dir, *self.config.hide)),
            devices=spec.devices,
            mounts=spec.card.mounts if spec.card is not None else (),
            entrances=tuple(str(path) for path in self.group(spec.lease_id).entrances()),
            namespaces=self.means.namespaces,
            user_namespace=self.means.user_namespace,
            ledger=str(self.folder(spec)) if self.means.ledger else "",
        )

    def _limits(self, spec: SliceSpec) -> dict[str, int]:
        return {
            "weight_permille": spec.share_permille,
            "cpu_permille": spec.cpu_quota_permille,
            "memory_bytes": (spec.memory_mib + self.config.runtime_mib) * MIB,
        }

    def _region_limits(self, spec: SliceSpec) -> RegionLimits:
        return RegionLimits(
            memory_mib=spec.memory_mib,
            share_permille=spec.share_permille if spec.card is None else spec.card.share_permille,
            compute_units=spec.compute_units,
            fencing_token=spec.token,
            card=self._card_limits(spec, spec.card) if spec.card is not None else None,
            inert=spec.card is not None and spec.card.inert,
        )

    def _card_limits(self, spec: SliceSpec, card: SliceCard) -> CardLimits:
        policy = self.config.cards
        return CardLimits(
            uuid=card_uuid(card.uuid),
            physical_mib=card.memory_mib,
            context_mib=policy.context_mib,
            spill_mib=policy.spill_mib,
            host_mib=policy.host_mib,
            copy_mib_s=policy.copy_mib_s * spec.share_permille // WHOLE_PERMILLE,
            strict_symbols=policy.variants == "withhold",
        )

    def _make_scratch(self, spec: SliceSpec) -> None:
        """The slice's own writable folders, on a file system that counts against its memory and ends with it."""
        scratch = self.folder(spec) / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        if self.means.own_uid and not scratch.is_mount():
            self._mount_scratch(spec, 0)
        for name, mode in (("tmp", 0o1777), ("shm", 0o1777), ("home", 0o700), ("home/.cache", 0o700)):
            folder = scratch / name
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
            if self.means.own_uid:
                shutil.chown(folder, spec.uid, spec.uid)

    def _mount_scratch(self, spec: SliceSpec, flags: int) -> None:
        options = f"size={spec.memory_mib}m,nr_inodes={SCRATCH_INODES},mode=0755"
        target = str(self.folder(spec) / "scratch")
        linux.mount("tmpfs", target, "tmpfs", flags | linux.MS_NOSUID | linux.MS_NODEV, options)


def bundled_icds() -> list[Path]:
    """The driver lists that Python wheels bring along: a slice sees its one ICD, not also theirs."""
    found = [
        path for prefix in interpreter_paths() for path in prefix.glob("lib/python*/site-packages/pyopencl/.libs/*.icd")
    ]
    return sorted(set(found))
