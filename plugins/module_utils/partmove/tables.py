# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables looked up before anything is done to one of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from .gate import few
from .layout import ShardLayout
from .ports import ZnodeReader
from .shard_reader import NoSuchTable

_BATCH = 2000


def check_tables(hot: ZnodeReader, shard_paths: Iterable[str]) -> None:
    """Raise NoSuchTable when there is no replicated table at one of the shard paths."""
    remaining = iter(shard_paths)
    while batch := list(islice(remaining, _BATCH)):
        definitions = hot.read([ShardLayout(path).metadata for path in batch])
        missing = [path for path, znode in zip(batch, definitions, strict=True) if znode is None]
        if missing:
            raise NoSuchTable(
                f"There is no replicated table at {few(missing)} in the {hot.name} ensemble",
                remedy="Correct the path or the chroot, or classify again if the table was dropped",
            )
