# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The znodes that were read into a run of a snapshot of Keeper."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from partition_classify.keeper_files.folder_run import FolderPart, FolderRun
from partition_classify.zookeeper_files.nodes import RecordReader


class ReadZnode(NamedTuple):
    """A znode as it was read; the root has the path ``b""``. ``stored`` is as in a snapshot of ZooKeeper."""

    path: bytes
    data: bytes
    stored: bytes
    children: int


def znodes_in(parts: Iterable[FolderPart]) -> list[ReadZnode]:
    """The znodes of the parts, by path."""
    found: list[ReadZnode] = []
    for part in parts:
        for content, children in ((part.own, part.children), *((each, 0) for each in part.records)):
            reader = RecordReader(io.BytesIO(content), Path("a run"), 0, len(content))
            found += (ReadZnode(path, data, stored, children) for _at, path, data, stored in reader.records())
    return sorted(found)


def znodes_of(run: FolderRun) -> list[ReadZnode]:
    """The znodes of the run, by path. What the folders say of names is what the records have."""
    parts = list(run.parts())
    found = znodes_in(parts)
    names = sorted((part.key.replace(b"\0", b"/"), name) for part in parts for name in part.names)
    divided = [each.path.rpartition(b"/") for each in found if each.path]
    assert names == sorted((parent, name) for parent, _slash, name in divided)
    assert [part.number for part in parts] == [len(part.names) for part in parts]
    return found
