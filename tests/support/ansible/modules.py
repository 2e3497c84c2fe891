# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules of the collection, called for two real ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from support.ansible.calls import Call, run_modules
from support.memory.tables import Table, read_tree

ASSUMED: dict[str, Any] = {"assume_patched": True, "assume_active": True, "min_age": "0"}
"""Options of part_move with which every partition of a synthetic table may be moved."""


@dataclass
class Pair:
    """The two ensembles, as tests and as modules know them."""

    hot: KazooClient
    cold: KazooClient
    options: dict[str, Any]
    folder: Path
    base: str
    left_behind: frozenset[str]
    """Paths of the znodes below the root that were there before the test."""

    def call(self, module: str, *, check: bool = False, **args: Any) -> dict[str, Any]:
        """Call a module with both ensembles and return its result."""
        return self.call_all(self.task(module, check=check, **args))[0]

    def task(self, module: str, *, check: bool = False, **args: Any) -> Call:
        """Return the call of a module with both ensembles."""
        return Call(module, self.options | args, check)

    def call_all(self, *calls: Call) -> list[dict[str, Any]]:
        """Call modules one after the other and return their results."""
        return run_modules(*calls)

    def trees(self) -> list[Mapping[str, Any]]:
        """Return all that is in both ensembles, apart from what earlier tests left there.

        Servers of those may have been stopped just now: their ephemeral znodes go when their sessions end.
        """
        return [read_tree(client, without=self.left_behind) for client in (self.hot, self.cold)]

    def trees_below(self, path: str) -> list[Mapping[str, Any]]:
        """Return what is at and below the path, which both ensembles have."""
        return [read_tree(client, path) for client in (self.hot, self.cold)]


def partitions_of(table: Table, *partitions: str) -> list[dict[str, str]]:
    """Return the option `partitions` for the given partitions of the table, or for all."""
    return [
        {"shard_path": table.path, "partition": partition}
        for partition in partitions or table.options.partitions
    ]
