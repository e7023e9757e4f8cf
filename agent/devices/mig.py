"""A card that its own hardware cuts: profiles, places, instances. Orders go through NVML; nothing here resets a card.

A GPU instance (memory and a group of processors) holds one compute instance that takes all of it; together they are
the MIG device that CUDA sees. Source: the MIG part of the NVML reference.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvml

from agent.devices.nvml import Nvml, Refused, text

MINORS = Path("/proc/driver/nvidia-caps/mig-minors")
_SHARED_ENGINES = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """A shape of which the card can make up to `at_most`. `number` asks for it, `id` names it in instances."""

    number: int
    id: int
    slices: int
    memory_mib: int
    processors: int
    at_most: int


@dataclass(frozen=True, slots=True)
class Instance:
    """A GPU instance. `uuid` empty: it has no compute instance yet, so CUDA does not see it."""

    id: int
    profile_id: int
    start: int
    size: int
    compute_id: int | None
    uuid: str


class MigCard:
    """One card. Every method raises Refused or CardGone."""

    def __init__(self, nvml: Nvml, uuid: str) -> None:
        self._nvml = nvml
        self._uuid = uuid

    def is_on(self) -> bool:
        return bool((self._nvml.ask(self._uuid, pynvml.nvmlDeviceGetMigMode) or (0, 0))[0])

    def profiles(self) -> list[Profile]:
        """Smallest first; the special ones (with media engines, without) come after the plain one of their size."""
        found = []
        for number in range(pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
            info = self._nvml.ask(self._uuid, lambda card, n=number: _profile_info(card, n))  # type: ignore[misc]
            if info is not None:
                found.append(Profile(number, info.id, info.sliceCount, int(info.memorySizeMB),
                                     info.multiprocessorCount, info.instanceCount))  # fmt: skip
        return sorted(found, key=lambda profile: (profile.slices, profile.memory_mib, profile.number))

    def starts(self, profile: Profile) -> list[tuple[int, int]]:
        """(start, size) of every place of a shape, taken or not."""

        def read(card: Any) -> list[tuple[int, int]]:
            count = ctypes.c_uint(0)
            pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(card, profile.id, None, ctypes.byref(count))
            places = (pynvml.c_nvmlGpuInstancePlacement_t * max(1, count.value))()
            pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(card, profile.id, places, ctypes.byref(count))
            return [(place.start, place.size) for place in places[: count.value]]

        return self._nvml.order(self._uuid, "MIG places", read)

    def instances(self) -> list[Instance]:
        """All of the card, whoever made them, by id."""
        found: list[Instance] = []
        for profile in self.profiles():
            found += self._nvml.order(self._uuid, "MIG instances", lambda card, p=profile: self._list(card, p))  # type: ignore[misc]
        return sorted({instance.id: instance for instance in found}.values(), key=lambda instance: instance.id)

    def create(self, profile: Profile, *, start: int, size: int) -> Instance:
        """A GPU instance at that place, with its compute instance."""

        def make(card: Any) -> int:
            place = pynvml.c_nvmlGpuInstancePlacement_t(start, size)
            made = pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(card, profile.id, ctypes.byref(place))
            return int(pynvml.nvmlGpuInstanceGetInfo(made).id)

        made = self._nvml.order(self._uuid, "MIG instance", make)
        return self.complete(made, profile)

    def complete(self, instance_id: int, profile: Profile) -> Instance:
        """Give a GPU instance its compute instance, if a crash left it without."""

        def make(card: Any) -> None:
            gpu = pynvml.nvmlDeviceGetGpuInstanceById(card, instance_id)
            if not _compute_instances(gpu):
                pynvml.nvmlGpuInstanceCreateComputeInstance(gpu, _compute_profile(gpu, profile.slices).id)

        self._nvml.order(self._uuid, "MIG compute instance", make)
        return next(instance for instance in self.instances() if instance.id == instance_id)

    def destroy(self, instance_id: int) -> None:
        """Nothing when it is not there. Refused while processes run in it."""

        def take_away(card: Any) -> None:
            try:
                gpu = pynvml.nvmlDeviceGetGpuInstanceById(card, instance_id)
            except pynvml.NVMLError_NotFound:
                return
            for compute in _compute_instances(gpu):
                pynvml.nvmlComputeInstanceDestroy(compute)
            pynvml.nvmlGpuInstanceDestroy(gpu)

        self._nvml.order(self._uuid, f"MIG instance {instance_id}", take_away)

    def minor(self) -> int | None:
        return self._nvml.ask(self._uuid, pynvml.nvmlDeviceGetMinorNumber)

    def _list(self, card: Any, profile: Profile) -> list[Instance]:
        count = ctypes.c_uint(profile.at_most)
        handles = (pynvml.c_nvmlGpuInstance_t * max(1, profile.at_most))()
        pynvml.nvmlDeviceGetGpuInstances(card, profile.id, handles, ctypes.byref(count))
        return [_instance(card, handles[index]) for index in range(count.value)]


def cap_nodes(minor: int, instance: Instance, *, minors: Path = MINORS) -> tuple[str, ...]:
    """The two nodes below /dev that a program needs to use an instance; none where the driver has no such list."""
    wanted = {f"gpu{minor}/gi{instance.id}/access", f"gpu{minor}/gi{instance.id}/ci{instance.compute_id}/access"}
    with contextlib.suppress(FileNotFoundError):
        lines = [line.split() for line in minors.read_text().splitlines()]
        return tuple(f"nvidia-caps/nvidia-cap{number}" for name, number in lines if name in wanted)
    return ()


def _profile_info(card: Any, number: int) -> Any:
    try:
        return pynvml.nvmlDeviceGetGpuInstanceProfileInfo(card, number, version=2)
    except pynvml.NVMLError as error:
        if error.value != pynvml.NVML_ERROR_FUNCTION_NOT_FOUND:
            raise
        return pynvml.nvmlDeviceGetGpuInstanceProfileInfo(card, number, version=1)


def _compute_profile(gpu: Any, slices: int) -> Any:
    """The one that takes the whole GPU instance."""
    for number in range(pynvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        with contextlib.suppress(pynvml.NVMLError_NotSupported, pynvml.NVMLError_InvalidArgument):
            info = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(gpu, number, _SHARED_ENGINES, version=2)
            if info.sliceCount == slices:
                return info
    raise Refused(f"MIG compute instance: no profile takes all {slices} slices of its GPU instance")


def _compute_instances(gpu: Any) -> list[Any]:
    found: list[Any] = []
    for number in range(pynvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        with contextlib.suppress(pynvml.NVMLError_NotSupported, pynvml.NVMLError_InvalidArgument):
            info = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(gpu, number, _SHARED_ENGINES, version=2)
            count = ctypes.c_uint(info.instanceCount)
            handles = (pynvml.c_nvmlComputeInstance_t * max(1, info.instanceCount))()
            pynvml.nvmlGpuInstanceGetComputeInstances(gpu, info.id, handles, ctypes.byref(count))
            found += [handles[index] for index in range(count.value)]
    return found


def _instance(card: Any, gpu: Any) -> Instance:
    info = pynvml.nvmlGpuInstanceGetInfo(gpu)
    computes = _compute_instances(gpu)
    compute_id = int(pynvml.nvmlComputeInstanceGetInfo_v2(computes[0]).id) if computes else None
    uuid = "" if compute_id is None else _device_uuid(card, info.id, compute_id)
    return Instance(info.id, info.profileId, info.placement.start, info.placement.size, compute_id, uuid)


def _device_uuid(card: Any, instance_id: int, compute_id: int) -> str:
    """The UUID of the MIG device of these two instances; empty while the driver has not made it up yet."""
    same: Callable[[Any], bool] = lambda device: (  # noqa: E731
        pynvml.nvmlDeviceGetGpuInstanceId(device) == instance_id
        and pynvml.nvmlDeviceGetComputeInstanceId(device) == compute_id
    )
    for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(card)):
        with contextlib.suppress(pynvml.NVMLError_NotFound, pynvml.NVMLError_InvalidArgument):
            device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(card, index)
            if same(device):
                return text(pynvml.nvmlDeviceGetUUID(device))
    return ""
