"""The price that was quoted is the price that is charged; a quote is used once, and never after its time."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from allocator.errors import DoesNotFit
from allocator.services import sweep
from billing import facade as billing
from marketplace.errors import QuoteExpired, QuoteUsed, WrongState
from marketplace.models import EVERYWHERE, Price, Quote, Reservation
from marketplace.services import (
    change_quote,
    extend,
    prices,
    quote,
    rate,
    reconcile,
    reconcile_device,
    release,
    reserve,
    resize,
    start_earlier,
)
from marketplace.services.evaluate import Evaluation
from plumbing.errors import DomainError
from tests.marketplace.factories import (
    HOUR,
    MINUTE,
    NOON,
    Buyer,
    buy,
    fresh,
    lease_of,
    make_book,
    make_buyer,
    make_order,
    make_price,
)
from tests.marketplace.node import Node
from tests.racing import race

DAY = 24 * HOUR


def settle(node: Node, *, now: datetime) -> None:
    node.beat(now=now)
    reconcile.reconcile(now=now)
    rate.rate_dirty(now=now)


def ask(buyer: Buyer, *, now: datetime = NOON, **over: Any) -> quote.Quoted:
    return quote.quote(order=make_order(buyer, **over), requested_by=buyer.person.user.pk, actor="user:test", now=now)


def confirm(buyer: Buyer, quoted: quote.Quoted, *, now: datetime = NOON) -> Reservation:
    return reserve.buy_quoted(
        quote_id=quoted.quote.pk, requested_by=buyer.person.user.pk, actor="user:test", now=now
    ).row


def change_price(unit_price: str, *, at: datetime, now: datetime) -> None:
    book: UUID = Price.objects.filter(sku="cpu", meter="delivered").values_list("book_id", flat=True)[0]
    prices.add_price(
        book_id=book, sku="cpu", meter="delivered", unit_price=Decimal(unit_price), valid_from=at, valid_until=None,
        ends_previous=True, now=now,
    )  # fmt: skip


def billed(row: Reservation) -> Decimal:
    return billing.charged_amount(sources=[lease_of(row)], starts_at=NOON - DAY, ends_at=NOON + 3 * DAY)


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=NOON)


@pytest.mark.usefixtures("system", "node")
class TestThePrice:
    def test_the_quoted_total_is_what_is_billed_whatever_the_list_says_later(self, node: Node) -> None:
        ada, bo = make_buyer(), make_buyer()
        quoted = ask(ada, ends_at=NOON + 2 * HOUR)
        priced = quoted.evaluation.priced
        assert priced is not None
        row, other = confirm(ada, quoted), buy(bo, ends_at=NOON + 2 * HOUR)
        change_price("6.40", at=NOON + HOUR, now=NOON + MINUTE)
        for hours in range(3):
            settle(node, now=NOON + hours * HOUR)
        assert (str(priced.total), str(billed(row)), str(billed(other))) == ("1.60", "1.60", "2.40")
        found = reconcile_device.reconcile_device(
            device_id=node.device().id, starts_at=NOON, ends_at=NOON + 2 * HOUR, currency="EUR", now=NOON + 3 * HOUR
        )
        assert found.charged + found.discount + found.idle - found.over_recovery == found.cost
        assert (str(found.charged), str(found.discount), str(found.cost)) == ("4.00", "0.80", "9.60")

    def test_a_step_that_was_published_is_in_the_quote(self, node: Node) -> None:
        ada = make_buyer()
        change_price("6.40", at=NOON + HOUR, now=NOON)
        quoted = ask(ada, ends_at=NOON + 2 * HOUR)
        assert quoted.evaluation.priced is not None
        row = confirm(ada, quoted)
        for hours in range(3):
            settle(node, now=NOON + hours * HOUR)
        assert str(quoted.evaluation.priced.total) == str(billed(row)) == "2.40"

    def test_what_is_added_later_costs_the_list_price(self, node: Node) -> None:
        ada = make_buyer()
        row = confirm(ada, ask(ada))
        change_price("6.40", at=NOON + 30 * MINUTE, now=NOON)
        settle(node, now=NOON)
        extend.extend(reach=EVERYWHERE, reservation_id=row.pk, ends_at=NOON + 2 * HOUR, actor="u", now=NOON)
        for hours in range(1, 3):
            settle(node, now=NOON + hours * HOUR)
        assert str(billed(row)) == "2.40"

    def test_an_open_end_keeps_its_price_for_a_day(self, node: Node) -> None:
        ada = make_buyer()
        row = confirm(ada, ask(ada, ends_at=None))
        change_price("6.40", at=NOON + HOUR, now=NOON)
        for hours in (0, 12, 24, 25):
            settle(node, now=NOON + hours * HOUR)
        release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="u", now=NOON + 25 * HOUR)
        settle(node, now=NOON + 25 * HOUR)
        assert billed(row) == Decimal("0.80") * 24 + Decimal("1.60")

    def test_a_tenants_own_price_is_quoted_to_him(self) -> None:
        ada = make_buyer()
        make_price("1.00", book_id=make_book(for_tenant_id=ada.tenant_id).pk)
        found = ask(ada).evaluation
        assert found.priced is not None
        assert (str(found.priced.total), found.terms.currency) == ("0.25", "EUR")

    def test_an_earlier_start_costs_the_list_price_before_the_quoted_time(self, node: Node) -> None:
        ada = make_buyer()
        row = confirm(ada, ask(ada, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR))
        change_price("6.40", at=NOON + MINUTE, now=NOON)
        start_earlier.start_earlier(reach=EVERYWHERE, reservation_id=row.pk, actor="u", now=NOON + 30 * MINUTE)
        for minutes in (30, 60, 90):
            settle(node, now=NOON + minutes * MINUTE)
        assert str(billed(fresh(row))) == "1.20"


@pytest.mark.usefixtures("system", "node")
class TestTheTime:
    def test_the_last_instant_counts_and_the_next_does_not(self) -> None:
        ada = make_buyer()
        late, in_time = ask(ada), ask(ada)
        assert in_time.quote.expires_at == NOON + timedelta(seconds=120)
        before = in_time.quote.expires_at - timedelta(microseconds=1)
        assert confirm(ada, in_time, now=before).quote_id == in_time.quote.pk
        with pytest.raises(QuoteExpired) as refused:
            confirm(ada, late, now=late.quote.expires_at)
        assert isinstance(refused.value.fresh, Evaluation)
        with pytest.raises(QuoteUsed):
            confirm(ada, in_time, now=NOON + HOUR)

    def test_a_start_that_came_meanwhile_is_now(self) -> None:
        ada = make_buyer()
        row = confirm(ada, ask(ada, starts_at=NOON + MINUTE), now=NOON + 2 * MINUTE - timedelta(seconds=1))
        assert row.starts_at == NOON + 2 * MINUTE - timedelta(seconds=1)

    def test_an_end_that_has_passed_has_no_terms_any_more(self) -> None:
        ada = make_buyer()
        quoted = ask(ada, ends_at=NOON + MINUTE)
        with pytest.raises(QuoteExpired) as refused:
            confirm(ada, quoted, now=NOON + HOUR)
        assert refused.value.fresh is None

    def test_old_quotes_are_forgotten_and_what_was_bought_keeps_its_price(self) -> None:
        ada = make_buyer()
        row, _ = confirm(ada, ask(ada)), ask(ada)
        assert quote.purge(now=NOON + DAY) == 0
        assert quote.purge(now=NOON + DAY + HOUR) == 2
        assert fresh(row).agreed_prices == row.agreed_prices
        assert row.agreed_prices is not None

    def test_a_refused_purchase_leaves_the_quote_usable(self) -> None:
        ada, bo = make_buyer(), make_buyer()
        quoted = ask(ada, share_permille=1000)
        first = buy(bo)
        with pytest.raises(DoesNotFit):
            confirm(ada, quoted)
        release.release(reach=EVERYWHERE, reservation_id=first.pk, actor="u", now=NOON)
        assert confirm(ada, quoted).quote_id == quoted.quote.pk


@pytest.mark.usefixtures("committed_system", "node")
class TestRaces:
    def test_of_two_who_confirm_one_quote_one_wins(self) -> None:
        ada = make_buyer()
        quoted = ask(ada)
        outcomes = race(*(partial(confirm, ada, quoted) for _ in range(4)))
        assert Counter(type(outcome).__name__ for outcome in outcomes) == {"Reservation": 1, "QuoteUsed": 3}
        assert Reservation.objects.count() == 1
        assert sweep.sweep() == []

    def test_a_quote_that_is_used_while_it_expires_is_used_or_expired(self) -> None:
        ada = make_buyer()
        quoted = ask(ada)
        end = quoted.quote.expires_at
        times = [end - timedelta(microseconds=1), end, end, end + MINUTE]
        outcomes = race(*(partial(confirm, ada, quoted, now=at) for at in times))
        kinds = Counter(type(outcome).__name__ for outcome in outcomes)
        assert kinds["Reservation"] == 1 == Reservation.objects.count()
        assert kinds["QuoteExpired"] + kinds["QuoteUsed"] == 3
        assert Quote.objects.get().used_at == times[0]

    def test_two_quotes_for_the_last_quarter_make_one_winner_with_a_way_on(self) -> None:
        """Two stale tabs: both were told that it fits."""
        buy(make_buyer(), memory_mib=6144, share_permille=750)
        tabs = [(buyer, ask(buyer)) for buyer in (make_buyer(), make_buyer())]
        assert all(quoted.evaluation.fits for _, quoted in tabs)
        outcomes = race(*(partial(confirm, buyer, quoted) for buyer, quoted in tabs))
        (refused,) = [outcome for outcome in outcomes if isinstance(outcome, DoesNotFit)]
        assert Counter(type(outcome).__name__ for outcome in outcomes) == {"Reservation": 1, "DoesNotFit": 1}
        ways: Any = refused.data["alternatives"]
        loser = next(buyer for (buyer, _), outcome in zip(tabs, outcomes, strict=True) if outcome is refused)
        size = ways[0]["slice"]
        made = buy(loser, **size, starts_at=ways[0]["starts_at"], ends_at=ways[0]["ends_at"])
        assert made.state == "confirmed"
        assert sweep.sweep() == []


@pytest.mark.usefixtures("system", "node")
class TestChanges:
    def test_a_resize_is_priced_before_it_is_made(self, node: Node) -> None:
        row = buy(make_buyer(), ends_at=NOON + 2 * HOUR)
        settle(node, now=NOON)
        at = NOON + HOUR - timedelta(seconds=1)
        told = change_quote.quote_resize(
            reach=EVERYWHERE, reservation_id=row.pk, memory_mib=4096, share_permille=250, now=at
        )
        assert (told.fits, told.effective_at) == (True, NOON + HOUR)
        assert [str(told.per_hour_before), str(told.per_hour_after), str(told.difference_per_hour)] == [
            "0.8000", "1.6000", "0.8000",
        ]  # fmt: skip
        assert (str(told.total_before), str(told.total_after)) == ("0.80", "1.60")
        assert (fresh(row).memory_mib, Reservation.objects.count()) == (2048, 1)

    def test_an_extension_is_priced_before_it_is_made(self) -> None:
        row = buy(make_buyer())
        told = change_quote.quote_extension(
            reach=EVERYWHERE, reservation_id=row.pk, ends_at=NOON + 3 * HOUR, now=NOON + 30 * MINUTE
        )
        assert (str(told.total_before), str(told.total_after), told.fits) == ("0.40", "2.00", True)
        open_end = change_quote.quote_extension(reach=EVERYWHERE, reservation_id=row.pk, ends_at=None, now=NOON)
        assert (open_end.total_after, open_end.fits) == (None, True)
        assert fresh(row).ends_at == NOON + HOUR

    @pytest.mark.parametrize(
        ("memory_mib", "share_permille"), [(2048, 250), (8192, 1000), (4096, 500), (4097, 500), (1, 1), (4096, 501)]
    )
    def test_a_resize_does_what_its_quote_said(self, node: Node, memory_mib: int, share_permille: int) -> None:
        row = buy(make_buyer())
        buy(make_buyer(), memory_mib=4096, share_permille=500)
        settle(node, now=NOON)
        wish: dict[str, Any] = {
            "reach": EVERYWHERE, "reservation_id": row.pk, "memory_mib": memory_mib, "share_permille": share_permille,
        }  # fmt: skip
        told = change_quote.quote_resize(**wish, now=NOON + MINUTE)
        try:
            resize.resize(**wish, actor="u", now=NOON + MINUTE)
            refused: DomainError | None = None
        except DomainError as error:
            refused = error
        assert told.fits == (refused is None)
        if refused is not None and told.refused is not None:
            assert (refused.code, refused.detail, refused.data) == (
                told.refused.code, told.refused.detail, told.refused.data,
            )  # fmt: skip

    @pytest.mark.parametrize("hours", [1, 2, 2.5, 3])
    def test_an_extension_does_what_its_quote_said(self, hours: float) -> None:
        row = buy(make_buyer())
        buy(make_buyer(), share_permille=1000, starts_at=NOON + 2 * HOUR, ends_at=NOON + 3 * HOUR)
        wish: dict[str, Any] = {"reach": EVERYWHERE, "reservation_id": row.pk, "ends_at": NOON + hours * HOUR}
        told = change_quote.quote_extension(**wish, now=NOON)
        try:
            extend.extend(**wish, actor="u", now=NOON)
            refused = False
        except DoesNotFit:
            refused = True
        assert (told.fits, hours <= 2) == (not refused, not refused)

    def test_what_has_ended_has_no_price_of_a_change(self) -> None:
        row = buy(make_buyer())
        release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="u", now=NOON)
        with pytest.raises(WrongState):
            change_quote.quote_resize(
                reach=EVERYWHERE, reservation_id=row.pk, memory_mib=1, share_permille=1, now=NOON + MINUTE
            )
