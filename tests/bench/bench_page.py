"""What a person waits for: `python -m tests.bench.bench_page [--quick]`.

The whole stack and a headless Chromium share the machine; the page's CPU is throttled four times by the browser's own
protocol. First contentful paint of a cold and of a warm visit (PerformancePaintTiming), the time from a key on the
Reserve page's slider to the next frame (Event Timing API, as INP counts it), and from there to the new quote on the
screen. Bundle sizes come from the build's manifest.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from config.demo.cast import Tenant, make_tenant, publish_prices, put_on_the_shelf
from config.demo.rest import Api
from config.stack import Stack
from tests.deploy.console_build import closure, entry_of, packed, read_manifest
from tests.e2e.browser.conftest import ARGUMENTS, log_in

ROOT = Path(__file__).resolve().parents[2]
THROTTLE = 4
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
WATCH_EVENTS = """window.slow = []; new PerformanceObserver((list) => window.slow.push(
    ...list.getEntries().filter((one) => one.name === 'keydown').map((one) => one.duration)
)).observe({type: 'event', durationThreshold: 16, buffered: true})"""


def throttled(page: Page) -> Page:
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    return page


def paint_ms(page: Page, address: str) -> float:
    page.goto(address)
    while (painted := page.evaluate(PAINT)) is None:  # the page's policy lets nothing wait by `eval` inside it
        page.wait_for_timeout(20)
    return float(painted)


def paints(browser: Browser, site: str, tenant: Tenant, times: int) -> dict[str, list[float]]:
    """Cold is a new browser context; warm is the same page again, its files in the browser's cache."""
    found: dict[str, list[float]] = {"log-in, cold": [], "home, cold": [], "home, warm": []}
    for _ in range(times):
        context = browser.new_context(base_url=site)
        found["log-in, cold"].append(paint_ms(throttled(context.new_page()), "/login"))
        context.close()
        context = browser.new_context(base_url=site)
        page = throttled(context.new_page())
        log_in(page, token=tenant.admin.token)
        found["home, cold"].append(paint_ms(page, "/"))
        found["home, warm"].append(paint_ms(page, "/"))
        context.close()
    return found


def choosing(browser: Browser, site: str, tenant: Tenant, times: int) -> dict[str, list[float]]:
    """Keys on the memory slider: to the next frame, and to the quote of the new size."""
    page = throttled(browser.new_context(base_url=site).new_page())
    log_in(page, token=tenant.admin.token)
    page.goto("/reserve")
    button = page.get_by_role("button", name="Reserve", exact=True)
    expect(button).to_have_attribute("aria-disabled", "false", timeout=60_000)
    page.evaluate(WATCH_EVENTS)
    page.get_by_role("slider", name="Memory").focus()
    quotes = []
    for step in range(times):
        with page.expect_response(lambda answer: answer.url.endswith("/api/v1/quotes")):
            began = time.perf_counter()
            page.keyboard.press("ArrowLeft" if step % 2 else "ArrowRight")
        expect(button).to_have_attribute("aria-disabled", "false", timeout=60_000)
        quotes.append((time.perf_counter() - began) * 1000)
    page.wait_for_timeout(500)
    # Shorter ones than the browser's own threshold are not reported: they count as that.
    keys = [float(one) for one in page.evaluate("window.slow")] or [16.0]
    return {"key on a slider to the next frame": keys, "key on a slider to the new quote": quotes}


def bundle() -> dict[str, float]:
    """kB (1000 bytes) by gzip: what a browser loads before the page runs, each page's own chunk, and everything."""
    manifest = read_manifest()
    initial = closure(manifest, entry_of(manifest))
    pages = [key for key in manifest if key.endswith("-page.tsx")]
    own = {Path(key).stem: packed(closure(manifest, key) - initial) / 1000 for key in sorted(pages)}
    whole = packed(set().union(*(closure(manifest, key) for key in manifest))) / 1000
    return {"entry": packed(initial) / 1000, **own, "everything": whole}


def show(found: dict[str, list[float]]) -> None:
    for name, times in found.items():
        ranked = sorted(times)
        print(f"| {name} | {len(ranked)} | {statistics.median(ranked):.0f} | {ranked[-1]:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    times = 5 if parser.parse_args().quick else 20
    logging.getLogger("httpx").setLevel(logging.WARNING)
    chromium = subprocess.run(
        [ROOT / "deploy/chromium.sh"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    with (
        tempfile.TemporaryDirectory(prefix="vxpu-page-") as folder,
        Stack(var=Path(folder), env=dict(os.environ)) as stack,
        sync_playwright() as playwright,
    ):
        site = stack.urls["web"]
        operator = Api(site, stack.operator_token)
        device = operator.rows("devices")[0]
        publish_prices(operator, kind=device["kind"])
        put_on_the_shelf(operator, device)
        tenant = make_tenant(operator, site, "A", run=f"{int(time.time()):x}")
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        print(f"CPU throttled {THROTTLE}x, load {os.getloadavg()[0]:.1f}")
        print("| what | times | median ms | most ms |\n|---|---|---|---|")
        show(paints(browser, site, tenant, times))
        show(choosing(browser, site, tenant, times * 2))
        browser.close()
    for name, size in bundle().items():
        print(f"{name}: {size:.0f} kB gz")


if __name__ == "__main__":
    main()
