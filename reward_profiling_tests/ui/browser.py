"""Headless Chromium of this machine, and the pictures of what it saw."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import BrowserContext, Locator, Page, sync_playwright

from reward_profiling_tests.parts import REPOSITORY, require

PICTURES = REPOSITORY / "test-output" / "ui"
TIMEOUT_MS = 120_000
# Wide enough for a graph of five assets to be drawn with all details.
_SIZE = {"width": 2000, "height": 1000}
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[BrowserContext]:
    """A browser with a profile that is new."""
    program = require("chromium", "install Chromium (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=program, args=_OPTIONS, viewport=_SIZE, timeout=TIMEOUT_MS
        )
        context.set_default_timeout(TIMEOUT_MS)
        yield context
        context.close()


@contextlib.contextmanager
def tab(context: BrowserContext, name: str) -> Iterator[Page]:
    """A new tab; what it showed last is kept as last_seen/<name>.png, for whoever asks why a test failed."""
    page = context.new_page()
    try:
        yield page
    finally:
        picture(page, f"last_seen/{name}")
        page.close()


def picture(page: Page, name: str, of: Locator | None = None) -> None:
    """Keep what `page` shows as test-output/ui/<name>.png; only the part around all of `of`, if given."""
    clip = None if of is None else _around(of)
    page.screenshot(path=PICTURES / f"{name}.png", clip=clip)


def _around(parts: Locator, margin: float = 24.0) -> dict[str, float]:
    boxes = [box for part in parts.all() if (box := part.bounding_box())]
    left, top = (min(box[side] for box in boxes) - margin for side in ("x", "y"))
    right = max(box["x"] + box["width"] for box in boxes) + margin
    bottom = max(box["y"] + box["height"] for box in boxes) + margin
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}
