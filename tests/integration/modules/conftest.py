# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every module test runs with real ZooKeepers and with the stand-in for ClickHouse Keeper."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.zookeeper import Ensemble

_KEEPER = "keeper"
_NAMED = os.environ.get("ENSEMBLES", "")
"""What is asked for in place of both, see `make_ensemble`."""


@pytest.fixture(scope="session", params=[_NAMED] if _NAMED else ["zookeeper", _KEEPER])
def manners(request: pytest.FixtureRequest) -> str:
    """Whose manners the ensembles have."""
    return str(request.param)


@pytest.fixture(scope="session")
def hot_ensemble(hot_ensemble: Ensemble, manners: str) -> Iterator[Ensemble | KeeperStandIn]:
    """One server."""
    with KeeperStandIn() if manners == _KEEPER and not _NAMED else nullcontext(hot_ensemble) as ensemble:
        yield ensemble


@pytest.fixture(scope="session")
def cold_ensemble(cold_ensemble: Ensemble, manners: str) -> Iterator[Ensemble | KeeperStandIn]:
    """Three members."""
    with KeeperStandIn(3) if manners == _KEEPER and not _NAMED else nullcontext(cold_ensemble) as ensemble:
        yield ensemble
