"""Small scored policies behind one interface (`base.Policy`), by name."""

from __future__ import annotations

from collections.abc import Mapping

from allocator.engine.policies.base import Policy
from allocator.engine.policies.binpack import Binpack, Spread
from allocator.engine.policies.carbon import Carbon
from allocator.engine.policies.fragmentation import Fragmentation
from allocator.engine.policies.topology import Topology

POLICIES: Mapping[str, Policy] = {
    policy.name: policy for policy in (Binpack(), Spread(), Fragmentation(), Topology(), Carbon())
}
