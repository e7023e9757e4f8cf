"""What the operator puts on the shelf."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import IntegrityError

from marketplace.errors import OfferExists
from marketplace.models import Offer, SliceProfile
from marketplace.services.wish import known_device_kind, known_isolation, known_policy, size_of
from plumbing import db


@db.transaction
def create_offer(
    *,
    sku: str,
    title: str,
    profile: str,
    memory_mib: int,
    share_permille: int,
    device_kind: str,
    isolation_at_least: str | None,
    policy: str | None,
    now: datetime,
) -> Offer:
    """`profile` names the size; one that exists under that name must be of the same size.

    Raises OfferExists, WrongSize, WrongChoice.
    """
    piece = size_of(memory_mib, share_permille)
    kind, isolation = known_device_kind(device_kind), known_isolation(isolation_at_least)
    owner = settings.VXPU_OPERATOR_TENANT
    found, _ = SliceProfile.objects.get_or_create(
        code=profile or sku,
        defaults={
            "tenant_id": owner, "memory_mib": piece.memory_mib, "share_permille": piece.share_permille,
            "created_at": now,
        },
    )  # fmt: skip
    if (found.memory_mib, found.share_permille) != (piece.memory_mib, piece.share_permille):
        raise OfferExists(f"The profile {found.code!r} is another size.", suggestion="Name another profile.")
    offer = Offer(
        tenant_id=owner, sku=sku, title=title, profile=found, device_kind=kind or "",
        isolation_at_least=isolation or "", policy=known_policy(policy) or "", created_at=now,
    )  # fmt: skip
    try:
        with db.savepoint():
            offer.save(force_insert=True)
    except IntegrityError as error:
        raise OfferExists(f"{sku!r} is on the shelf.", suggestion="Choose another sku.") from error
    return offer
