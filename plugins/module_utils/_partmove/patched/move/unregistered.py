# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions that neither ensemble registers: dropped, never there, or on disk and lost to both.

Only the servers can tell these apart. A server makes a part active once it is registered, and unregisters one
that it has dropped already. So what is active before both ensembles are read, and still is after that, has to
be registered there; where it is not, the next restart of the server sets it aside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...errors import PartMoveError
from ...gates.drift import refuse_dropped_or_lost, refuse_unregistered
from ...gates.gate import Refusal
from ...gates.servers import ActiveNames, ServerCheck, server_silent
from ...shard.facts import RegisteredNames, ShardFacts
from ...shard.location import Location, locate
from ...shard.reader import ShardReader


class Unregistered(NamedTuple):
    """What is so of partitions that neither ensemble registered; each is in at most one of the three."""

    gone: set[str]
    """Ids of those that no server has on disk, or that nobody can be asked about and State says to be hot."""
    deferred: dict[str, Refusal]
    """Partition id → why it cannot be told."""
    failed: dict[str, Refusal]
    """Partition id → which of its parts are on disk all the same."""


def find_unregistered(
    reader: ShardReader, servers: ServerCheck, shard: ShardFacts, found: Mapping[str, RegisteredNames]
) -> Unregistered:
    """Tell the partitions that were found in neither ensemble apart.

    One that is somewhere by now, or that changes on disk, is in none of the answers: it is to be looked at
    anew. Raises as `ShardReader.shard` does.
    """
    if not servers.asks:
        untold = {each: refuse_dropped_or_lost() for each, names in found.items() if names.is_cold}
        return Unregistered(set(found) - set(untold), untold, {})
    ids = sorted(found)
    try:
        before = servers.active(shard, ids) if ids else {}
    except PartMoveError as error:
        return Unregistered(set(), dict.fromkeys(ids, server_silent(error)), {})
    told = Unregistered({each for each in ids if each not in before}, {}, {})
    if before:
        _look_again(reader, servers, before, told)
    return told


def _look_again(reader: ShardReader, servers: ServerCheck, before: ActiveNames, told: Unregistered) -> None:
    """Add the partitions that servers had on disk before to what is told."""
    suspects = sorted(before)
    shard, names = reader.registered_names(suspects)
    try:
        after = servers.active(shard, suspects)
    except PartMoveError as error:
        told.deferred.update(dict.fromkeys(suspects, server_silent(error)))
        return
    for each in suspects:
        if each not in names or locate(names[each]) is not Location.ABSENT:
            continue
        on_disk = _in_both(before[each], after.get(each, {}))
        if on_disk:
            told.failed[each] = refuse_unregistered(on_disk)
        elif each not in after:
            told.gone.add(each)


def not_known_to_be_dropped(
    servers: ServerCheck, shard: ShardFacts, partition_ids: Sequence[str]
) -> list[str]:
    """Those of the partitions, cold by State and registered nowhere, that servers may still have; sorted.

    One that was dropped while it was cold is like that for ever, and no server has it.
    """
    if not servers.asks or not partition_ids:
        return sorted(partition_ids)
    try:
        return sorted(servers.active(shard, partition_ids))
    except PartMoveError:
        return sorted(partition_ids)


def _in_both(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Replica → names that it had both times; one without such is no key."""
    both = {
        replica: [name for name in names if name in after.get(replica, ())]
        for replica, names in before.items()
    }
    return {replica: names for replica, names in both.items() if names}
