"""Pools, sites, topologies: the operator's words and what follows of them."""

from __future__ import annotations

from typing import Any

import pytest

from allocator import facade
from allocator.errors import BadTopology, DoesNotFit, NameTaken, PolicyNotAllowed, StillUsed
from allocator.models import NodeEvent
from allocator.services import pools
from allocator.services._picture import PICTURE
from plumbing.errors import Invalid
from tests.allocator.factories import NOON, Node, book, make_wish
from tests.identity.factories import make_operator
from vxpu.states import Quality
from vxpu.wire.node import CardLink, CardReport, Reading

pytestmark = pytest.mark.usefixtures("system")


def put(node: Node, **where: str | None) -> None:
    pools.describe_node(node_id=node.id, changes=where, actor="olga", now=NOON)


def make_pool(name: str, policy: str = "binpack", **over: Any) -> None:
    pools.make_pool(name=name, policy=policy, now=NOON, **{"may_override": False, "description": "", **over})


def test_each_pool_is_filled_by_its_own_policy() -> None:
    packed, even = Node(devices=2), Node(devices=2)
    make_pool("packed", "binpack")
    make_pool("even", "spread")
    put(packed, pool="packed")
    put(even, pool="even")
    places = {name: [book(make_wish(pool=name)).device_id for _ in range(2)] for name in ("packed", "even")}
    assert (len(set(places["packed"])), len(set(places["even"]))) == (1, 2)
    found = facade.propose(wish=make_wish(pool="even"), now=NOON)[0]
    assert (found.policy, found.fitted, sum(found.terms.values())) == ("spread", 2, found.score)


def test_all_wishes_of_a_look_share_a_pools_policy_so_that_its_scores_are_kept() -> None:
    with PICTURE.look(now=NOON) as seen:
        rule = seen.rules.pools[""]
        assert rule.policy_for(None) is rule.policy_for("fragmentation")


def test_a_wish_chooses_the_policy_where_the_operator_lets_it() -> None:
    node = Node()
    make_pool("fixed")
    put(node, pool="fixed")
    with pytest.raises(PolicyNotAllowed):
        facade.propose(wish=make_wish(pool="fixed", policy="spread"), now=NOON)
    with pytest.raises(PolicyNotAllowed):
        facade.propose(wish=make_wish(policy="spread"), now=NOON)
    with pytest.raises(PolicyNotAllowed):
        facade.propose_gang(wish=make_wish(policy="spread"), count=2, together="any", now=NOON)
    pools.change_pool(name="fixed", changes={"may_override": True})
    assert facade.propose(wish=make_wish(pool="fixed", policy="spread"), now=NOON)[0].policy == "spread"


def test_contradictory_wishes_are_refused_with_counts() -> None:
    node = Node(devices=2)
    make_pool("empty")
    pools.make_site(name="north", now=NOON)
    put(node, site="north")
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(models=("Other CPU",)))
    assert refused.value.data["constraints"] == {"other_model": 2}
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(pool="empty", site="north"))
    assert refused.value.data["constraints"] == {"other_pool": 2}
    with pytest.raises(Invalid):
        facade.propose(wish=make_wish(pool="nowhere"), now=NOON)


def test_a_gang_that_fits_in_no_pool_counts_each_device_once() -> None:
    make_pool("east")
    put(Node(devices=3), pool="east")
    Node(devices=2)
    with pytest.raises(DoesNotFit) as refused:
        facade.propose_gang(wish=make_wish(), count=4, together="devices", now=NOON)
    assert refused.value.data["constraints"] == {"not_together": 5}


def test_names_are_unique_and_what_is_used_stays() -> None:
    node = Node()
    make_pool("gpu")
    with pytest.raises(NameTaken):
        make_pool("gpu")
    put(node, pool="gpu")
    with pytest.raises(StillUsed):
        pools.drop_pool(name="gpu")
    put(node, pool=None)
    pools.drop_pool(name="gpu")
    kinds = list(NodeEvent.objects.filter(node_id=node.id, kind="pool_set").values_list("reason", flat=True))
    assert sorted(kinds) == ["gpu", "none"]
    with pytest.raises(Invalid):
        make_pool("odd", "no such policy")
    with pytest.raises(Invalid):
        pools.make_site(name="hot", pue_permille=900, now=NOON)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("pools/%00", {}, 404), ("sites/%00", {}, 404), ("sites/north", {"latency_ms": {"\0": 1}}, 422),
        ("sites/north", {"latency_ms": {"": 1}}, 422), ("sites/north", {"latency_ms": {"south": 2**63}}, 400),
        ("sites/north", {"latency_ms": {"south": 60_001}}, 400),
    ],
)  # fmt: skip
def test_names_and_figures_that_are_none(path: str, body: Any, status: int) -> None:
    pools.make_site(name="north", now=NOON)
    answer = make_operator().client.patch(f"/api/v1/{path}", body, format="json")
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")


def test_what_no_device_draws_is_not_known_and_stops_nobody() -> None:
    node = Node(devices=2, readings={"power_limit_mw": Reading(value=2**80, at=NOON, quality=Quality.MEASURED)})
    assert facade.propose(wish=make_wish(policy="carbon"), now=NOON)[0].node_id == node.id


def test_a_sites_document_leaves_a_node_that_it_does_not_name_to_its_agent() -> None:
    links = [CardLink(peer="B", nvlinks=2, pcie="switch")]
    node = Node(devices=2)
    node.devices = [
        device.model_copy(update={"card": CardReport(uuid=uuid, links=links if uuid == "A" else [])})
        for device, uuid in zip(node.devices, "AB", strict=True)
    ]
    node.sync(now=NOON)
    pools.make_site(name="north", now=NOON, topology={"nodes": {"another": {"links": []}}})
    put(node, site="north")
    with PICTURE.look(now=NOON) as seen:
        assert [link.score for link in seen.draft.layout.machines[0].links] == [250]


def test_a_topology_with_holes_is_refused_and_a_whole_one_is_used() -> None:
    node = Node(devices=2)
    keys = [device.key for device in node.devices]
    document: dict[str, Any] = {"nodes": {"node": {"links": []}}}
    with pytest.raises(BadTopology) as refused:
        pools.set_node_topology(node_id=node.id, document=document, actor="olga", now=NOON)
    assert refused.value.data["problems"]
    document["nodes"]["node"]["links"] = [{"between": keys, "nvlinks": 4, "pcie": "switch"}]
    pools.set_node_topology(node_id=node.id, document=document, actor="olga", now=NOON)
    with PICTURE.look(now=NOON) as seen:
        (machine,) = seen.draft.layout.machines
        assert [link.score for link in machine.links] == [450]
