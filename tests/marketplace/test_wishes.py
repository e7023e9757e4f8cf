"""What was asked becomes a wish, or a refusal that says what to do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from allocator.errors import DoesNotFit
from marketplace.errors import OfferClosed, WrongPeriod
from marketplace.models import Offer
from marketplace.services import offers
from marketplace.services.wish import CLOCK_GRACE, Order, WrongChoice, WrongSize, period_of, refusal, size_of, wish_of
from plumbing.errors import NotFound
from tests.marketplace.factories import HOUR, NOON
from vxpu.ids import new_uuid
from vxpu.slices import Slice
from vxpu.states import Isolation

SECOND = timedelta(seconds=1)


def order(**over: Any) -> Order:
    wanted: dict[str, Any] = {
        "tenant_id": new_uuid(), "project_id": new_uuid(), "memory_mib": 1024, "share_permille": 100, **over,
    }  # fmt: skip
    return Order(**wanted)


def test_a_start_a_little_past_is_now_and_one_long_past_an_error() -> None:
    assert period_of(None, None, now=NOON).starts_at == NOON
    assert period_of(NOON - CLOCK_GRACE, None, now=NOON).starts_at == NOON
    with pytest.raises(WrongPeriod, match="past"):
        period_of(NOON - CLOCK_GRACE - SECOND, None, now=NOON)


def test_a_period_is_half_open_and_not_empty() -> None:
    assert period_of(NOON + HOUR, NOON + HOUR + SECOND, now=NOON).ends_at == NOON + HOUR + SECOND
    with pytest.raises(WrongPeriod):
        period_of(NOON + HOUR, NOON + HOUR, now=NOON)
    with pytest.raises(WrongPeriod):  # a start in the grace becomes now, and then the end is not after it
        period_of(NOON - SECOND, NOON, now=NOON)


@pytest.mark.parametrize(("memory", "share"), [(0, 1), (1, 0), (-5, 10), (1, 1001), (2**40 + 1, 1), (10**40, 10**40)])
def test_sizes_that_no_device_could_be(memory: int, share: int) -> None:
    with pytest.raises(WrongSize) as refused:
        size_of(memory, share)
    assert refused.value.status == 422


def test_any_is_none_and_words_are_known() -> None:
    wish, offer = wish_of(order(), now=NOON)
    assert (wish.device_kind, wish.device_id, wish.isolation_at_least, wish.policy, offer) == (None,) * 5
    wish, _ = wish_of(order(device_kind="cpu", isolation_at_least="limiter-strict", policy="spread"), now=NOON)
    assert (wish.device_kind, wish.isolation_at_least, wish.policy) == ("cpu", Isolation.STRICT, "spread")
    for wrong in ({"device_kind": "gpu9"}, {"policy": "best"}, {"isolation_at_least": "none"}, {"memory_mib": None}):
        with pytest.raises(WrongChoice):
            wish_of(order(**wrong), now=NOON)


@pytest.fixture
def offer(system: None) -> Offer:
    return offers.create_offer(
        sku="cpu-quarter", title="A quarter", profile="1/4", memory_mib=2048, share_permille=250, device_kind="cpu",
        isolation_at_least="limiter-strict", policy="spread", now=NOON,
    )  # fmt: skip


def test_an_offer_fixes_size_kind_and_isolation(offer: Offer) -> None:
    wish, found = wish_of(order(offer_id=offer.pk, memory_mib=None, share_permille=None), now=NOON)
    assert found == offer
    assert wish.slice == Slice(memory_mib=2048, share_permille=250)
    assert (wish.device_kind, wish.isolation_at_least, wish.policy) == ("cpu", Isolation.STRICT, "spread")


def test_an_offer_and_a_size_contradict_each_other(offer: Offer) -> None:
    with pytest.raises(WrongChoice):
        wish_of(order(offer_id=offer.pk), now=NOON)
    with pytest.raises(WrongChoice):
        wish_of(order(offer_id=offer.pk, memory_mib=None, share_permille=None, device_kind="nvidia"), now=NOON)


def test_an_offer_that_is_off_the_shelf_or_unknown(offer: Offer) -> None:
    bare: dict[str, Any] = {"memory_mib": None, "share_permille": None}
    Offer.objects.update(is_open=False)
    with pytest.raises(OfferClosed):
        wish_of(order(offer_id=offer.pk, **bare), now=NOON)
    with pytest.raises(NotFound):
        wish_of(order(offer_id=new_uuid(), **bare), now=NOON)


def test_a_refusal_names_the_ways_that_there_are() -> None:
    bare = refusal(DoesNotFit("full", constraints={"compute": 1}, next_free_at=None, nearest=[]))
    assert bare.suggestion == 'Send "queue": true to wait.'
    rich = refusal(DoesNotFit("full", next_free_at=NOON, nearest=[Slice(memory_mib=1, share_permille=1)]))
    assert "next_free_at" in rich.suggestion
    assert "nearest" in rich.suggestion
    assert rich.data["next_free_at"] == NOON
