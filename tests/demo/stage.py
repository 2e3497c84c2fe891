# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the demo plays: two ensembles, and who serves the tables that are registered there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from demo.tables import DemoTable
from support.memory.tables import read_tree
from support.servers.kazoo_client import connected
from support.servers.zookeeper import Ensemble, EnsembleOptions


class Server(NamedTuple):
    """One server, for people."""

    name: str
    version: str
    address: str


class Stage(Protocol):
    """Tables in the hot ensemble, and whoever serves them."""

    @property
    def servers(self) -> Sequence[Server]:
        """Those besides the ensembles."""

    @property
    def unshown(self) -> str:
        """What cannot be shown here, because there are no servers; empty where there are some."""

    @property
    def warning(self) -> str:
        """What is different from a cluster in service."""

    @property
    def readiness(self) -> Mapping[str, Any]:
        """The options of part_move that say what is known of the servers."""

    def fill(self) -> datetime:
        """Create the tables and fill them; return the moment to classify for."""

    def rows(self) -> Mapping[str, tuple[int, int]]:
        """Rows, and a sum over their content, by table and replica; nothing where there are no servers."""

    def check(self) -> str:
        """Tell how the servers are, after the move; raises Surprise when they are not well."""

    def restart(self) -> str:
        """Restart the servers and tell how they are; raises Surprise when they are not well."""

    def drop(self, table: DemoTable, partition: str) -> None:
        """Drop a partition on all servers."""


@dataclass(frozen=True)
class Ensembles:
    """The two ensembles; both run."""

    hot: Ensemble
    cold: Ensemble

    @property
    def servers(self) -> list[Server]:
        """Every member."""
        return [
            Server(f"{name} ensemble", _version(ensemble), member.address)
            for name, ensemble in (("hot", self.hot), ("cold", self.cold))
            for member in ensemble.members
        ]

    def cold_tree(self) -> Mapping[str, tuple[object, ...]]:
        """Return every znode of the cold ensemble."""
        with connected(self.cold.connect_string) as client:
            return read_tree(client)


@contextmanager
def running_ensembles(folder: Path, cold_members: int = 3) -> Iterator[Ensembles]:
    """Start both ensembles, and stop them at the end."""
    with (
        Ensemble(folder / "hot") as hot,
        Ensemble(folder / "cold", EnsembleOptions(participants=cold_members)) as cold,
    ):
        yield Ensembles(hot, cold)


def _version(ensemble: Ensemble) -> str:
    return "ZooKeeper " + ensemble.members[0].monitor()["zk_version"].partition("-")[0]
