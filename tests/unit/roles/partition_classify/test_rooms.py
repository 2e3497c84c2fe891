# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Imports between the rooms of the Spark job go one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import build_package

PACKAGE = build_package.HERE / "partition_classify"
# Each room imports itself and those before it. What is said on stderr may be said anywhere, and where Spark
# runs may be asked anywhere, so these are first; the other files beside the rooms are the job, which is last.
ROOMS = ("progress", "session", "zookeeper_files", "keeper_files", "sources", "policy", "report", "job")


def room_of(place: tuple[str, ...]) -> str:
    """The room of a module, which is given by the names on the way to it from the package."""
    return place[0] if place[0] in ROOMS else "job"


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The places of the modules of the package that the file imports, also within functions."""
    folder = path.relative_to(PACKAGE).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = folder[: len(folder) - node.level + 1]
            names = node.module.split(".") if node.module else [node.names[0].name]
            yield (*base, *names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("partition_classify."):
            yield tuple((node.module or "").split(".")[1:])


def test_rooms_import_only_what_comes_before_them() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    places = {path: path.relative_to(PACKAGE).with_suffix("").parts for path in files}
    against = [
        f"{path.relative_to(PACKAGE)} imports {'.'.join(place)}"
        for path in files
        for place in imported(path)
        if ROOMS.index(room_of(place)) > ROOMS.index(room_of(places[path]))
    ]
    assert against == []
    assert {room_of(place) for place in places.values()} == set(ROOMS)
    assert sum(len(list(imported(path))) for path in files) > len(files)
