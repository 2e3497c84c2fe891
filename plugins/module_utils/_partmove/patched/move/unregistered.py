# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Classifies partitions in neither ensemble: dropped, never there, or on disk and lost from both ensembles.

Only the servers know which. A server makes a part active after registering it, and unregisters a part after
dropping it. So a part that is active both before and after the ensembles are read has to be registered. If
the part is unregistered, the next restart of the server moves it to ``detached/``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...errors import PartMoveError
from ...gates.gate import Refusal
from ...gates.location import refuse_dropped_or_lost, refuse_unregistered
from ...gates.servers import ActiveNames, ServerCheck, server_silent
from ...shard.facts import RegisteredNames, ShardFacts
from ...shard.location import Location, locate
from ...shard.reader import ShardReader


class Unregistered(NamedTuple):
    """The classified partitions; each is in at most one of the three."""

    gone: set[str]
    """Ids of partitions on no disk, or with State HOT while no server can be asked."""
    deferred: dict[str, Refusal]
    """Partition id → refusal, as the servers did not answer."""
    failed: dict[str, Refusal]
    """Partition id → refusal with the parts found on disk."""


def find_unregistered(
    reader: ShardReader, servers: ServerCheck, shard: ShardFacts, absent: Mapping[str, RegisteredNames]
) -> Unregistered:
    """Classify the partitions found in neither ensemble.

    A partition gets no answer if a part is registered by now, or if its disks changed: read the partition
    again. Raises as `ShardReader.shard` does.
    """
    if not servers.asks:
        in_doubt = {each: refuse_dropped_or_lost() for each, names in absent.items() if names.is_cold}
        return Unregistered(set(absent) - set(in_doubt), in_doubt, {})
    ids = sorted(absent)
    try:
        before = servers.active(shard, ids) if ids else {}
    except PartMoveError as error:
        return Unregistered(set(), dict.fromkeys(ids, server_silent(error)), {})
    result = Unregistered({each for each in ids if each not in before}, {}, {})
    if before:
        _read_again(reader, servers, before, result)
    return result


def _read_again(reader: ShardReader, servers: ServerCheck, before: ActiveNames, result: Unregistered) -> None:
    """Read ensembles and disks again, and classify the partitions formerly on disk."""
    suspects = sorted(before)
    shard, names = reader.registered_names(suspects)
    try:
        after = servers.active(shard, suspects)
    except PartMoveError as error:
        result.deferred.update(dict.fromkeys(suspects, server_silent(error)))
        return
    for each in suspects:
        if each not in names or locate(names[each]) is not Location.ABSENT:
            continue
        on_disk = _in_both(before[each], after.get(each, {}))
        if on_disk:
            result.failed[each] = refuse_unregistered(on_disk)
        elif each not in after:
            result.gone.add(each)


def not_known_to_be_dropped(
    servers: ServerCheck, shard: ShardFacts, partition_ids: Sequence[str]
) -> list[str]:
    """Return the partitions possibly still on servers, sorted; all are COLD and in neither ensemble.

    A partition dropped while it was cold stays COLD for ever, and no server has its parts.
    """
    if not servers.asks or not partition_ids:
        return sorted(partition_ids)
    try:
        return sorted(servers.active(shard, partition_ids))
    except PartMoveError:
        return sorted(partition_ids)


def _in_both(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return replica → names in both answers; a replica without such names is no key."""
    both = {
        replica: [name for name in names if name in after.get(replica, ())]
        for replica, names in before.items()
    }
    return {replica: names for replica, names in both.items() if names}
