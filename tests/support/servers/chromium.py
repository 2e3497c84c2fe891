# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages in a headless Chromium, as they come out on a screen of some width."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest

_SECONDS = 600
_SCHEMES = {"dark": 0, "light": 1}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SCRIPTS = re.compile(r"; script-src '[^']*'")
_PROBE = """<script>
const page = document.documentElement;
parent.document.body.dataset.probe = [innerWidth, page.scrollWidth, page.scrollHeight].join(" ");
{script}
</script></body>"""


# A window is never narrower than 500 pixels, but a frame is as narrow as a phone.
_WINDOW = """<!doctype html><html><head><meta name="color-scheme" content="light dark"></head>
<body style="margin:0"><iframe style="border:0;width:{width}px;height:{height}px" srcdoc="{page}"></iframe>
</body></html>"""


class Shown(NamedTuple):
    """A page as it was shown; lengths in CSS pixels."""

    inner_width: int
    scroll_width: int
    scroll_height: int
    background: str
    """The colour of the top left corner: ``#0d141c``."""
    console: list[str]
    """What the browser had to complain about."""
    told: str | None
    """What a script of the test left in ``parent.document.body.dataset.told``."""


def chromium_program() -> str:
    """The browser; skips the test, with the way out, where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("NOT TESTED: there is no chromium here. Run `make setup` as root, or install it")
    return program


def show(page: Path, folder: Path, *, width: int, height: int, scheme: str, script: str = "") -> Shown:
    """Show the page in a frame of this size; the screenshot is ``folder/<width>-<scheme>.png``.

    Measured is a copy of the page that is allowed one more script, which measures and then is ``script``.
    """
    text = page.read_text(encoding="utf-8")
    assert _POLICY in text
    assert "</body>" in text
    copy = folder / f"{width}-{scheme}.html"
    # A browser that is told the digest of one script runs no other, whatever else it is told.
    measured = _SCRIPTS.sub("", text, count=1)
    measured = measured.replace(_POLICY, f"{_POLICY}; script-src 'unsafe-inline'", 1)
    measured = html.escape(measured.replace("</body>", _PROBE.replace("{script}", script), 1))
    copy.write_text(_WINDOW.format(width=width, height=height, page=measured), encoding="utf-8")
    screenshot = copy.with_suffix(".png")
    done = subprocess.run(
        [
            chromium_program(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},{height}",
            f"--blink-settings=preferredColorScheme={_SCHEMES[scheme]}",
            f"--screenshot={screenshot}",
            "--dump-dom",
            copy.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=True,
    )
    probe = re.search(r'data-probe="(\d+) (\d+) (\d+)"', done.stdout)
    assert probe, done.stderr
    inner_width, scroll_width, scroll_height = map(int, probe.groups())
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    told = re.search(r'data-told="([^"]*)"', done.stdout)
    background = _first_pixel(screenshot)
    return Shown(
        inner_width,
        scroll_width,
        scroll_height,
        background,
        console,
        html.unescape(told[1]) if told else None,
    )


def _first_pixel(png: Path) -> str:
    content = png.read_bytes()
    data, at = b"", 8
    while at < len(content):
        length, kind = int.from_bytes(content[at : at + 4]), content[at + 4 : at + 8]
        if kind == b"IDAT":
            data += content[at + 8 : at + 8 + length]
        at += length + 12
    # After the number of the filter, which leaves the first pixel of the first line as it is.
    return f"#{zlib.decompressobj().decompress(data, 4)[1:4].hex()}"
