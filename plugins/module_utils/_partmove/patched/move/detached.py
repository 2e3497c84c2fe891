# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds parts newly detached during a run, by the folders in ``detached``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...errors import PartMoveError
from ...formats.names import PartName, detached_part
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...gates.servers import ServerCheck, server_silent
from ...shard.facts import ShardFacts


def detached_since(
    servers: ServerCheck,
    shard: ShardFacts,
    parts: Iterable[PartName],
    before: Mapping[str, frozenset[str]],
) -> dict[str, Refusal]:
    """Return partition id → refusal, for given parts with a new folder in ``detached``.

    ``before``: replica → names in ``detached`` at an earlier time. If a server does not answer, every
    partition of the parts is refused.
    """
    owners = {part.text: part.partition_id for part in parts}
    failures: dict[str, Refusal] = {}
    try:
        for replica, name in _newly_detached(servers, shard, before):
            partition_id = owners.get(name) or owners.get(detached_part(name))
            if partition_id is not None:
                failures.setdefault(partition_id, _detached(replica, name))
    except PartMoveError as error:
        return dict.fromkeys(owners.values(), server_silent(error)) | failures
    return failures


def _newly_detached(
    servers: ServerCheck, shard: ShardFacts, before: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, str]]:
    """Yield replica and name of each new folder in ``detached``."""
    now = servers.detached(shard) if before else {}
    for replica in sorted(now.keys() & before.keys()):
        for name in sorted(now[replica] - before[replica]):
            yield replica, name


def _detached(replica: str, name: str) -> Refusal:
    return Refusal(
        GateName.ACTIVE_ON_DISK,
        f"replica {replica} detached {name} during the run",
        "Run part_audit_info on the shard path now, and follow its remedy before the server restarts",
    )
