# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: the two ensembles that modules are called for, and a table in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from support.ansible.modules import Pair
from support.memory.tables import Table, build_table
from support.servers.ladder.rungs import rung
from support.servers.modern.server import ENGINE
from support.servers.zookeeper import Ensemble


@pytest.fixture
def pair(
    hot: Ensemble, cold: Ensemble, connect: Callable[[str], KazooClient], tmp_path: Path, base: str
) -> Pair:
    """Both ensembles, with clients and with the options that modules take."""
    options = {
        "hot": {"hosts": [member.address for member in hot.members]},
        "cold": {"hosts": [member.address for member in cold.members]},
        # A root of its own keeps the locks of this test apart from those of others.
        "coordination_root": f"{base}-partmove",
    }
    clients = connect(hot.connect_string), connect(cold.connect_string)
    present = {f"/{name}" for client in clients for name in client.get_children("/")}
    left_behind = frozenset(path for path in present if not path.startswith(base))
    return Pair(*clients, options, tmp_path, base, left_behind)


@pytest.fixture
def table(pair: Pair) -> Table:
    """A table with three partitions that every gate lets pass."""
    return build_table(pair.hot, f"{pair.base}/hits")


@pytest.fixture(scope="module")
def real_version(modern_version: str) -> str:
    """The version of modern servers, where they are real: with native ports, config.d and all threads."""
    if modern_version == ENGINE or not rung(modern_version).real:
        pytest.skip(f"there is no real server of ClickHouse {modern_version}")
    return modern_version
