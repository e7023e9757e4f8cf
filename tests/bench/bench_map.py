"""Frames of the fleet map: `python -m tests.bench.bench_map [--quick] [--site URL --token FILE]`.

1,000 simulated devices (quick: 200) on a stack of its own, or the fleet of a running one. A headless Chromium without a
GPU, its CPU throttled four times. For each way to move the map: what the map's own drawing takes in a frame (the time
in its requestAnimationFrame callback), and how far apart frames come. Screen and server share the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from config.stack import Stack
from tests.e2e.browser.conftest import ARGUMENTS, log_in

ROOT = Path(__file__).resolve().parents[2]
THROTTLE = 4
FRAMES = 60
BUILD_S = 900.0
# Around every callback: how long it took, and when its frame came. Another loop keeps frames coming all the time.
INSTRUMENT = """
window.work = []; window.frames = [];
const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (callback) => ask((at) => {
    const began = performance.now(); callback(at); window.work.push(performance.now() - began);
});
const tick = (at) => { window.frames.push(at); ask(tick); }; ask(tick);
"""
READ = "(() => { const found = [window.work, window.frames]; window.work = []; window.frames = []; return found; })()"


@contextlib.contextmanager
def simulated(devices: int) -> Iterator[tuple[str, str]]:
    """A site with that fleet, and its operator's token."""
    with tempfile.TemporaryDirectory(prefix="vxpu-map-") as folder, Stack(var=Path(folder), agent=False) as stack:
        command = [sys.executable, "manage.py", "simulate_fleet", "--devices", str(devices)]
        fleet = subprocess.Popen(command, cwd=ROOT, env=stack.env, stdout=subprocess.PIPE, text=True)
        try:
            began = time.monotonic()
            for line in fleet.stdout or ():
                if "runs" in line:
                    break
                if time.monotonic() - began > BUILD_S:
                    raise SystemExit("the fleet is not up in time")
            yield stack.urls["web"], stack.operator_token
        finally:
            fleet.terminate()
            fleet.wait(120)


def drag(page: Page, box: dict[str, float]) -> None:
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(FRAMES):
        page.mouse.move(x + 120 * ((step % 20) / 20), y + 60 * ((step % 30) / 30))
    page.mouse.up()


def wheel(page: Page, box: dict[str, float]) -> None:
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3)
    for step in range(FRAMES):
        page.mouse.wheel(0, -60 if step < FRAMES / 2 else 60)


def hover(page: Page, box: dict[str, float]) -> None:
    for step in range(FRAMES):
        page.mouse.move(box["x"] + 40 + step * 9, box["y"] + 40 + step * 4)


def watch(page: Page, box: dict[str, float]) -> None:
    """Live figures alone: only cells that changed are drawn."""
    page.wait_for_timeout(6_000)


WAYS: dict[str, Callable[[Page, dict[str, float]], None]] = {
    "drag": drag, "zoom by wheel": wheel, "hover": hover, "live figures": watch,
}  # fmt: skip


def measure(page: Page) -> None:
    """One row a way."""
    page.goto("/fleet?view=map")
    frame = page.get_by_role("group", name="Map of the fleet")
    frame.wait_for(timeout=120_000)
    page.wait_for_timeout(3_000)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    box = frame.bounding_box()
    if box is None:
        raise SystemExit("the map is not on the screen")
    print("| way | draws | draw p50 ms | draw p95 ms | frame p50 ms | frame p95 ms |\n|---|---|---|---|---|---|")
    for name, way in WAYS.items():
        page.evaluate(READ)
        way(page, {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]})
        page.wait_for_timeout(300)
        work, frames = page.evaluate(READ)
        gaps = [after - before for before, after in pairwise(frames)]
        print(f"| {name} | {len(work)} | {_pair(work)} | {_pair(gaps)} |", flush=True)


def _pair(times: list[float]) -> str:
    ranked = sorted(times) or [0.0]
    return f"{statistics.median(ranked):.1f} | {ranked[int(len(ranked) * 0.95)]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 devices")
    parser.add_argument("--site", help="a running stack's address")
    parser.add_argument("--token", type=Path, help="the file with its operator's token")
    chosen = parser.parse_args()
    chromium = subprocess.run(
        [ROOT / "deploy/chromium.sh"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    with contextlib.ExitStack() as open_until_end:
        if chosen.site and chosen.token:
            site, token = chosen.site, chosen.token.read_text().strip()
        else:
            site, token = open_until_end.enter_context(simulated(200 if chosen.quick else 1000))
        playwright = open_until_end.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_context(base_url=site, viewport={"width": 1440, "height": 900}).new_page()
        page.add_init_script(INSTRUMENT)
        log_in(page, token=token)
        print(f"CPU throttled {THROTTLE}x, load {os.getloadavg()[0]:.1f}")
        measure(page)
        browser.close()


if __name__ == "__main__":
    main()
