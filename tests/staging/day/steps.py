# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a day: a step lasts until the next one begins.

Usage: python -m staging.day.steps FOLDER NAME [--fault]

With --fault the step breaks something that ClickHouse itself depends on, so that queries may fail meanwhile.
The name `end` ends the last step.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

_END = "end"


@dataclass(frozen=True)
class Step:
    """A step of a day, in seconds of the epoch."""

    name: str
    begin: float
    end: float
    fault: bool = False
    """Whether queries may fail."""

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.end - self.begin


def begin_step(folder: Path, name: str, *, fault: bool = False) -> None:
    """Write down that a step begins now."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "steps.jsonl").open("a") as file:
        file.write(json.dumps({"name": name, "begin": time.time(), "fault": fault}) + "\n")


def read_steps(folder: Path) -> list[Step]:
    """Return all steps in their order. The last one ends now if nobody has ended it."""
    lines = [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]
    ends = [line["begin"] for line in lines[1:]] + [time.time()]
    return [Step(**line, end=end) for line, end in zip(lines, ends, strict=True) if line["name"] != _END]


def main() -> None:
    """Begin a step from the command line."""
    parser = argparse.ArgumentParser(prog="staging.day.steps", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--fault", action="store_true")
    options = parser.parse_args()
    begin_step(options.folder, options.name, fault=options.fault)


if __name__ == "__main__":
    main()
