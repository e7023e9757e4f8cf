"""One noun a file."""

from allocator.models.device import Device, DeviceReading
from allocator.models.host import NodeHost
from allocator.models.lease import Lease, LeaseEvent, LeaseOutage
from allocator.models.lessons import PoolLessons
from allocator.models.maintenance import Maintenance, NodeEvent
from allocator.models.node import Enrolment, Node, NodeKey, SpentToken
from allocator.models.pool import Pool, Site
from allocator.models.relocation import MoveHold, MovePlan, Relocation
from allocator.models.segment import Segment
from allocator.models.simulation import Simulation
from allocator.models.usage import DirtyHour, QuarantinedUsage, UsageCursor, UsageGap, UsageWindow
from allocator.models.watch import Pulse

__all__ = [
    "Device",
    "DeviceReading",
    "DirtyHour",
    "Enrolment",
    "Lease",
    "LeaseEvent",
    "LeaseOutage",
    "Maintenance",
    "MoveHold",
    "MovePlan",
    "Node",
    "NodeEvent",
    "NodeHost",
    "NodeKey",
    "Pool",
    "PoolLessons",
    "Pulse",
    "QuarantinedUsage",
    "Relocation",
    "Segment",
    "Simulation",
    "Site",
    "SpentToken",
    "UsageCursor",
    "UsageGap",
    "UsageWindow",
]
