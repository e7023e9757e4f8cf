"""The one device that a guest sees, with a queue and the sources that the programs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyopencl as cl

MIB = 1024 * 1024


@dataclass(frozen=True)
class Device:
    """A context with one queue on the first OpenCL device."""

    context: Any
    queue: Any

    @classmethod
    def open(cls) -> Device:
        """Raises SystemExit when the place shows no device, as a program of a user would."""
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
        if not devices:
            raise SystemExit("this place shows no OpenCL device")
        context = cl.Context(devices=devices[:1])
        return cls(context, cl.CommandQueue(context))

    @property
    def info(self) -> Any:
        return self.context.devices[0]

    @property
    def memory_mib(self) -> int:
        """What the device says that it has: inside a slice, the slice's memory."""
        return int(self.info.global_mem_size) // MIB

    def build(self, source: str) -> Any:
        return cl.Program(self.context, source).build()

    def upload(self, array: Any) -> Any:
        return cl.Buffer(self.context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=array)

    def upload_writable(self, array: Any) -> Any:
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=array)

    def empty(self, size_bytes: int) -> Any:
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size=size_bytes)

    def download(self, buffer: Any, into: Any) -> None:
        cl.enqueue_copy(self.queue, into, buffer)
        self.queue.finish()
