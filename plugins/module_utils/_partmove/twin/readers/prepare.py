# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides under the lease whether a run hides rows from readers of a pair, and on which replicas."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from ...errors import NotPermitted, PartMoveError, ServerAway
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...tree.ports import Clock
from ..move.refusals import Refused
from ..move.tables import TwinTables
from .servers import ReaderServers
from .views import PolicyReaders, Replica

_REMEDY = "Correct it, or set readers to none: readers then see rows of moving partitions twice"


class ReadersOption(str, Enum):
    """The option of the same name."""

    AUTO = "auto"
    """Row policies where they can be used."""
    POLICY = "policy"
    """Row policies; partitions of tables where they cannot be used are deferred."""
    NONE = "none"
    """No row policies."""


class ReadersOptions(NamedTuple):
    """How a run treats readers. ``limit``: how long a run waits for readers, in seconds."""

    option: ReadersOption = ReadersOption.AUTO
    limit: float = 60.0


class Prepared(NamedTuple):
    """What readers of a pair see during moves."""

    readers: PolicyReaders
    tables: tuple[str, ...]
    """The reading tables with row policies, by name; empty if a run changes no policy but left ones."""
    reason: str = ""
    """Why no row policy hides rows, although a reading table exists; "" otherwise."""


def prepare_readers(
    servers: ReaderServers,
    clock: Clock,
    tables: Sequence[TwinTables],
    options: ReadersOptions,
    *,
    has_records: bool,
) -> Prepared:
    """Find the reading tables of each replica, and try whether row policies work there.

    has_records: whether partitions were between the tables before the run, which may have policies then.

    Raises Refused with the gate ``readers_ready`` if the option demands policies and they cannot be used, if
    policies may be left that the run cannot find, or if a server does not answer: it may have readers.
    """
    found: list[Replica] = []
    is_unknown = False
    try:
        found = [Replica(each, servers.reading(each)) for each in tables]
        problem = "" if options.option is not ReadersOption.NONE else "the option readers is none"
        if not problem and any(replica.reading.tables for replica in found):
            found, problem = _tried(servers, found)
    except PartMoveError as error:
        problem = f"{error.message}. {error.remedy}"
        # Who may not see policies has created none.
        may_be_left = has_records and not found and not isinstance(error, NotPermitted)
        is_away = isinstance(error, ServerAway) and options.option is not ReadersOption.NONE
        is_unknown = may_be_left or is_away
    if problem and (options.option is ReadersOption.POLICY or is_unknown):
        raise Refused(Refusal(GateName.READERS_READY, problem, _REMEDY))
    names = sorted({str(table) for replica in found for table in replica.reading.tables})
    if problem or not names:
        left = [replica._replace(reading=replica.reading._replace(tables=())) for replica in found]
        return Prepared(
            PolicyReaders(servers, clock, left, options.limit), (), problem if names or not found else ""
        )
    return Prepared(PolicyReaders(servers, clock, found, options.limit), tuple(names))


def _tried(servers: ReaderServers, found: Sequence[Replica]) -> tuple[list[Replica], str]:
    """Return the replicas with their storages, and the first problem."""
    replicas = []
    for tables, read in found:
        reading = read
        if read.tables:
            reading = read._replace(storage=servers.storage(tables))
            problem = servers.problem(tables, reading) or servers.probe(tables, reading)
            if problem:
                return list(found), problem
        replicas.append(Replica(tables, reading))
    return replicas, ""
