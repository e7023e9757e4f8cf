"""Settings of cards, as an operator writes them."""

from __future__ import annotations

import pytest

from agent.config import CardPolicy


def test_settings_are_read_by_their_names() -> None:
    policy = CardPolicy.parse(
        ["lend=work-conserving", "escape=kill", "context-mib=300", "copy_mib_s=2048", "variants=withhold"]
    )
    assert policy == CardPolicy(
        lend="work-conserving", escape="kill", variants="withhold", context_mib=300, copy_mib_s=2048
    )
    assert CardPolicy.parse([]) == CardPolicy()


@pytest.mark.parametrize(
    "word", ["lend=soft", "escape=ignore", "variants=all", "context-mib=-1", "context-mib=1.5", "spill", "x=1"]
)
def test_what_is_no_setting_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"lend|escape|variants|number|setting"):
        CardPolicy.parse([word])
