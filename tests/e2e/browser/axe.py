"""Deque's axe in the page: what a reader with other means than ours would stumble over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parents[3] / "frontend/node_modules/axe-core/axe.min.js"
GRAVE = {"serious", "critical"}


SETTLED_MS = 1000


def grave_findings(page: Page) -> list[str]:
    """Serious and critical findings by WCAG 2.2 A and AA, one line for each place; colour contrast among them.

    What is there only while the page is being drawn is none.
    """
    page.evaluate(AXE.read_text())
    first = _look(page)
    if not first:
        return []
    page.wait_for_timeout(SETTLED_MS)
    again = set(_look(page))
    return [finding for finding in first if finding in again]


def _look(page: Page) -> list[str]:
    found: dict[str, Any] = page.evaluate(
        "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )
    return [
        f"{finding['id']}: {node['target']} {node['failureSummary']}"
        for finding in found["violations"]
        if finding["impact"] in GRAVE
        for node in finding["nodes"]
    ]
