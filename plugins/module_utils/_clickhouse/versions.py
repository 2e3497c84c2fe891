# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses versions of servers, and refuses servers whose tables cannot be in an auxiliary ensemble."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.text import shown
from .client import ClickHouseClient

_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.\d+)*(?:[-+~._][0-9A-Za-z.+~_-]*)?", re.ASCII)
"""Such as 24.8.4.1, 23.8.11.29.altinitystable and 20.12.3.3-cold1."""


class Release(NamedTuple):
    """The first two numbers of a version. Since 2018 these are the year and, later, the month."""

    year: int
    month: int

    def __str__(self) -> str:
        """Return the text, such as 24.8."""
        return f"{self.year}.{self.month}"


OLDEST_WITH_AUXILIARY_TABLES = Release(21, 1)
"""The first version whose tables can be in an auxiliary ensemble, by the change log of ClickHouse."""


class VersionRefused(PartMoveError):
    """The version of a server is too old, or its text is not understood."""


def release_of(version: str, server: str) -> Release:
    """Parse the text that version() returns. Raises VersionRefused for other text."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise VersionRefused(
            f"{server} reports the version {shown(version)}, which is not understood",
            remedy="See SELECT version() there, and check that it is a ClickHouse server",
        )
    return Release(int(found[1]), int(found[2]))


def require_auxiliary_tables(client: ClickHouseClient) -> None:
    """Raise VersionRefused unless tables of the server can be in an auxiliary ensemble.

    Raises PartMoveError if the server does not answer.
    """
    version = client.version()
    if release_of(version, client.label) < OLDEST_WITH_AUXILIARY_TABLES:
        raise VersionRefused(
            f"{client.label} runs ClickHouse {version}, and tables can be in an auxiliary ensemble from"
            f" {OLDEST_WITH_AUXILIARY_TABLES} on",
            remedy=f"Bring the server to {OLDEST_WITH_AUXILIARY_TABLES} or later, and run again",
        )
