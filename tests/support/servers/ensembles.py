# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ensembles of tests: real ZooKeepers, or what the variable ENSEMBLES names."""

from __future__ import annotations

import os
from pathlib import Path

from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.keeper.manners import MANNERS
from support.servers.zookeeper import Ensemble, EnsembleOptions

_REAL = "zookeeper"


def make_ensemble(folder: Path, side: str, members: int) -> Ensemble | KeeperStandIn:
    """Return the ensemble ``hot`` or ``cold``, which a context manager starts.

    ENSEMBLES is ``zookeeper``, or the manners of a stand-in (``keeper``, ``new_keeper``, ``old_keeper``, or
    ``control`` for those of ZooKeeper); ``zookeeper+keeper`` names those of hot and of cold.
    """
    hot, _plus, cold = (os.environ.get("ENSEMBLES") or _REAL).partition("+")
    manners = hot if side == "hot" else cold or hot
    if manners == _REAL:
        return Ensemble(folder / side, EnsembleOptions(participants=members))
    if manners not in MANNERS:
        raise ValueError(f"ENSEMBLES names {manners!r}; known are {', '.join([_REAL, *MANNERS])}")
    return KeeperStandIn(members, MANNERS[manners])
