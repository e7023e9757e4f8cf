"""Deque's axe in the page: what a reader with other means than ours would stumble over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parents[3] / "frontend/node_modules/axe-core/axe.min.js"
GRAVE = {"serious", "critical"}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast"]
SETTLED_MS = 1000


def grave_findings(page: Page, *, only_colours: bool = False) -> list[str]:
    """Serious and critical findings by WCAG 2.2 A and AA, one line for each place; colour contrast among them.

    What is there only while the page is being drawn is none. `only_colours`: what another theme can change.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    rules = COLOURS if only_colours else RULES
    first = _look(page, rules)
    if not first:
        return []
    page.wait_for_timeout(SETTLED_MS)
    again = set(_look(page, rules))
    return [finding for finding in first if finding in again]


def _look(page: Page, rules: list[str]) -> list[str]:
    found: dict[str, Any] = page.evaluate("(rules) => axe.run(document, {runOnly: rules})", rules)
    return [
        f"{finding['id']}: {node['target']} {node['failureSummary']}"
        for finding in found["violations"]
        if finding["impact"] in GRAVE
        for node in finding["nodes"]
    ]
