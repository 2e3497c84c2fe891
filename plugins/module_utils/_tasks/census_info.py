# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of census_info: count the contents of a running ensemble and report removable znodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._clickhouse.census_servers import query_servers
from .._clickhouse.settings import clients_of
from .._partmove.census.census import Places
from .._partmove.census.report import result_of
from .._partmove.census.settings import checked_count, limits_of
from .._partmove.census.walk import take_census
from .._partmove.formats.layout import check_shard_path
from .pacing import latency_target
from .resources import Resources, coordination_root


class CensusInfo:
    """Implements Task for census_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._places = Places(coordination_root(params), check_shard_path(params["ddl_path"]))
        self._limits = limits_of(params)
        self._reads_per_second = checked_count("znodes_per_second", params["znodes_per_second"])
        self._latency_target = latency_target(params)
        self._clients = None if params["clickhouse"] is None else clients_of(params["clickhouse"])
        self._found: dict[str, Any] = {}

    def result(self) -> dict[str, Any]:
        """Return the census; nothing before the census is complete."""
        return {"changed": False, **self._found}

    def run(self, resources: Resources) -> None:
        """Read every znode, then query the servers, so that they know tables created meanwhile."""
        hot = resources.open_ensemble(
            "hot", reads_per_second=self._reads_per_second, latency_target=self._latency_target
        )
        census = take_census(hot, self._places)
        answers = None if self._clients is None else query_servers(self._clients)
        self._found = result_of(census, self._limits, int(resources.clock.now() * 1000), answers)
