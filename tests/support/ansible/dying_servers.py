# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers for a run in this process that is killed at one of its statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import HttpTwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
    DropParts,
    SetMerges,
)

T = TypeVar("T")


class Killed(BaseException):
    """The process of the run is gone."""


class DyingServers(HttpTwinServers):
    """Gives so many statements, and then dies before or after the next one."""

    def __init__(
        self, options: ClickHouseOptions, statements: int, *, given: bool, parts: int | None = None
    ) -> None:
        """parts: how many parts the last statement drops before the server dies too; None for all."""
        super().__init__(options)
        self._parts = parts
        self._left = statements
        self._is_dead = False
        self._given = given

    def attach(self, statement: AttachPartitions) -> str:
        """As the servers do, or die."""
        return self._live(lambda: super(DyingServers, self).attach(statement))

    def drop(self, statement: DropParts) -> bool:
        """As the servers do, or die."""
        last = (
            statement
            if self._left or self._parts is None
            else statement._replace(parts=statement.parts[: self._parts])
        )
        return self._live(lambda: super(DyingServers, self).drop(last))

    def set_merges(self, statement: SetMerges) -> None:
        """As the servers do; a process that is gone starts no merges."""
        if self._is_dead:
            raise Killed
        super().set_merges(statement)

    def _live(self, statement: Callable[[], T]) -> T:
        if self._left:
            self._left -= 1
            return statement()
        if self._given:
            statement()
        self._is_dead = True
        raise Killed


def run_until_killed(run: Callable[[], object]) -> None:
    """Run with `DyingServers` until they die; the test fails if the run comes to its end."""
    try:
        said = run()
    except Killed:
        return
    pytest.fail(f"the run ended before it could be killed: {said}")
