# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds parts on disk: the engine may be at a statement that waits for the replica that asks for a part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from support.servers.modern.parts_exchange import NoSuchPart, Part, PartFinder

_REPLICATED = re.compile(r"ENGINE = Replicated\w*MergeTree\('(?:[^':/]*:)?(/[^']*)', '([^']*)'")
_UUID = re.compile(r"^ATTACH TABLE \S+ UUID '([0-9a-f-]{36})'")
_MACRO = re.compile(r"\{(\w+)\}")
_NO_UUID = "00000000-0000-0000-0000-000000000000"


def parts_on_disk(data: Path, macros: Mapping[str, str]) -> PartFinder:
    """Find parts of the tables whose definitions are in a data folder, with the macros of the server."""

    def find(replica: str, name: str) -> Part:
        for path, folder in _tables(data, macros):
            if path == replica and (folder / name).is_dir():
                return _part(folder / name)
        raise NoSuchPart(f"no part {name} in {replica}")

    return find


def _tables(data: Path, macros: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """The path in ZooKeeper and the data folder of each replicated table."""
    for file in (*data.glob("store/*/*/*.sql"), *data.glob("metadata/*/*.sql")):
        try:
            definition = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        engine, identity = _REPLICATED.search(definition), _UUID.search(definition)
        if engine:
            uuid = identity[1] if identity else ""
            known = {
                **macros,
                "table": unquote(file.stem),
                "database": unquote(file.parent.name),
                "uuid": uuid,
            }
            path = _without_macros(f"{engine[1]}/replicas/{engine[2]}", known)
            yield path, _folder(data, file, uuid)


def _without_macros(text: str, known: Mapping[str, str]) -> str:
    return _MACRO.sub(lambda macro: known[macro[1]], text)


def _folder(data: Path, file: Path, uuid: str) -> Path:
    return data / "store" / uuid[:3] / uuid if uuid else data / "data" / file.parent.name / file.stem


def _part(folder: Path) -> Part:
    uuid = folder / "uuid.txt"
    kind = "Compact" if (folder / "data.bin").exists() else "Wide"
    return Part(folder, kind, uuid.read_text().strip() if uuid.exists() else _NO_UUID)
