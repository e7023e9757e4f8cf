"""`make screenshots`: every page of the console, in both themes and on a phone, into var/screenshots.

It starts a stack of its own with a tenant in the middle of its day, a real program in a real lease, and a simulated
fleet. `python -m tests.screenshots home lease` takes these only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from config.demo.numbers import SETTINGS
from config.stack import Stack
from tests.e2e.browser.conftest import ARGUMENTS, log_in
from tests.e2e.browser.places import PHONE, WIDE, Place, places
from tests.e2e.browser.world import World, living_world

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "var" / "screenshots"
# Live pages never fall silent: so long they get to fill their charts.
SETTLE_MS = 4_000
LOOKS: dict[str, dict[str, Any]] = {
    "light": {**WIDE, "color_scheme": "light"},
    "dark": {**WIDE, "color_scheme": "dark"},
    "phone": {**PHONE, "color_scheme": "light"},
    "phone-dark": {**PHONE, "color_scheme": "dark"},
    "chinese": {**WIDE, "color_scheme": "light", "locale": "zh-CN"},
}


def take(browser: Browser, world: World, place: Place, look: str) -> Path:
    """One picture of the whole page."""
    context = browser.new_context(
        base_url=world.stack.urls["web"], timezone_id="Europe/Berlin", **{"locale": "en-GB", **LOOKS[look]}
    )
    page = context.new_page()
    if place.who != "nobody":
        log_in(page, token=(world.operator if place.who == "operator" else world.tenant.admin).token)
    page.goto(place.address)
    page.wait_for_timeout(SETTLE_MS)
    target = OUT / f"{place.name}-{look}.png"
    page.screenshot(path=target, full_page=True)
    context.close()
    return target


def main(only: list[str]) -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    chromium = subprocess.run(
        [ROOT / "deploy/chromium.sh"], stdout=subprocess.PIPE, text=True, check=False
    ).stdout.strip()
    if not chromium:
        return 1
    with (
        tempfile.TemporaryDirectory(prefix="vxpu-screens-") as folder,
        Stack(var=Path(folder), env={**os.environ, **SETTINGS}, say=print) as stack,
        living_world(stack) as world,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for place in places(world):
            if only and place.name not in only:
                continue
            for look in LOOKS:
                print(take(browser, world, place, look).relative_to(ROOT), flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
