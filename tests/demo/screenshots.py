# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes the pictures of the report that README.md and docs/report.md show."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from partition_classify.report.page import html_text
from support.classify.reports import large
from support.servers.chromium import show

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


class Picture(NamedTuple):
    """A picture of the top of the page; lengths in CSS pixels."""

    name: str
    width: int
    height: int
    scheme: str


PICTURES = (Picture("report.png", 1120, 1240, "light"), Picture("report-phone.png", 390, 1300, "dark"))


def main() -> int:
    """Write each picture over the one that is there; the exit status is 1 without a browser."""
    if shutil.which("chromium") is None:
        sys.stderr.write("There is no chromium here. Run `make setup` as root, or install it.\n")
        return 1
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots.") as name:
        folder = Path(name)
        page = folder / "report.html"
        page.write_text(html_text(large()), encoding="utf-8")
        for picture in PICTURES:
            show(page, folder, width=picture.width, height=picture.height, scheme=picture.scheme)
            shutil.copyfile(folder / f"{picture.width}-{picture.scheme}.png", IMAGES / picture.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
