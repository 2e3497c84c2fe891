# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the expiry times in the ledger of the twin in step with a statement.

A TTL that drops a part of the twin explains the lack of the part only after the time in the ledger. So
a statement that changes the TTL changes these times, too:

- Before the twin gets the statement, times become earlier where the new TTL is earlier. By then the table has
  the statement, so that no server refuses it. The twin may drop parts as soon as it has the statement, and no
  server knows the rows of these parts afterwards.
- After the statement, and before its record is removed, all times become those of the twin. Times that become
  later must wait for that: until then the twin drops parts by the former TTL.

A mutation may change the rows that decide when a part expires. The server then notes the new time with the
part, and the ledger takes it over after the statement.

Parts that the twin lacks before the statement keep their times: the new TTL explains nothing about them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ...formats.names import PartName, parse_names
from ..ledger.compare import has_ttl, uncovered
from ..ledger.entry import BlockRange, LedgerEntry
from ..ledger.ledger import OpenLedger
from ..ledger.work import in_batches
from ..move.tables import TwinTables
from .leaving import write_changes
from .shard import AlterShard
from .statement import AlterKind, Statement
from .words import words_of

_BATCH = 10
"""How many partitions a query asks about: a query that reads rows must end before the timeout."""
_APPLIED = ("MODIFY", "MATERIALIZE")


def changes_ttl(statement: Statement, verbs: Collection[str] = (*_APPLIED, "REMOVE")) -> bool:
    """Whether the statement changes the TTL, or applies it to all parts, by one of the verbs."""
    if statement.kind not in (AlterKind.STRUCTURE, AlterKind.REWRITE):
        return False
    words = [each for each in words_of(statement.text) if not each.depth]
    return any(
        verb.value in verbs and ttl.value == "TTL" and ttl.kind == "word"
        for verb, ttl in zip(words, words[1:])
    )


def require_expiries(shard: AlterShard, statement: Statement, tables: TwinTables) -> None:
    """Raise PartMoveError, before anything is changed, if the user may not read the times for the ledger."""
    if not _may_change_times(statement, tables):
        return
    if OpenLedger(shard.hot, shard.root, shard.shard_path).entries:
        shard.servers.parts(tables, ())
        if changes_ttl(statement, _APPLIED):
            shard.servers.expected_expiries(tables, ())


def _may_change_times(statement: Statement, tables: TwinTables) -> bool:
    is_rewrite = statement.kind in (AlterKind.MUTATION, AlterKind.REWRITE)
    return changes_ttl(statement) or (is_rewrite and has_ttl(tables.cold.definition))


def advance_expiries(shard: AlterShard, statement: Statement) -> None:
    """Make times in the ledger earlier before the twin gets the TTL of the table. Raises PartMoveError."""
    if not changes_ttl(statement, _APPLIED):
        return
    tables = shard.tables()[0]

    def advanced(before: BlockRange, after: int | None) -> int:
        return _earlier(before.expires, after or 0)

    _change(shard, tables, advanced, lambda batch: shard.servers.expected_expiries(tables, batch))


def renew_expiries(shard: AlterShard, statement: Statement) -> None:
    """Make all times in the ledger those of the twin, which has the statement. Raises PartMoveError."""
    tables, servers = shard.tables()[0], shard.servers
    if not _may_change_times(statement, tables):
        return
    keeps_ttl, is_applied = has_ttl(tables.cold.definition), changes_ttl(statement, _APPLIED)
    now = servers.now(tables)

    def times(batch: Sequence[str]) -> Mapping[str, int]:
        # A TTL that is not materialized yet has changed no time that a server notes with a part.
        noted = servers.expiries(tables, batch)
        expected = servers.expected_expiries(tables, batch) if is_applied else {}
        return {each: _earlier(noted.get(each, 0), expected.get(each, 0)) for each in {*noted, *expected}}

    def renewed(before: BlockRange, after: int | None) -> int:
        if after is None:
            # The former TTL explains what it dropped, and nothing that is lost later.
            return before.expires if keeps_ttl or before.expires <= now else 0
        return after if after or is_applied or not keeps_ttl else before.expires

    _change(shard, tables, renewed, times)


def _change(
    shard: AlterShard,
    tables: TwinTables,
    time_of: Callable[[BlockRange, int | None], int],
    times_of: Callable[[Sequence[str]], Mapping[str, int]],
) -> None:
    """Change the times of all entries.

    time_of: returns the new time of blocks, by the one that the parts of the twin have; see `expiry_of`.
    times_of: maps parts of partitions to their times; parts without a time are left out.
    """
    opened = OpenLedger(shard.hot, shard.root, shard.shard_path)
    entries = opened.entries
    for batch in in_batches(list(entries), _BATCH):
        parts, times = shard.servers.parts(tables, batch), times_of(batch)
        changes: dict[str, LedgerEntry | None] = {}
        for each in batch:
            texts = [part.name for part in parts[each].cold if part.content.rows]
            names = parse_names(texts, each, "system.parts")
            ranges = entries[each].ranges
            after = tuple(
                blocks._replace(expires=time_of(blocks, expiry_of(blocks, names, times))) for blocks in ranges
            )
            if after != ranges:
                changes[each] = entries[each]._replace(ranges=after)
        write_changes(shard, opened, changes)


def expiry_of(blocks: BlockRange, names: Collection[PartName], times: Mapping[str, int]) -> int | None:
    """Return when all rows of the parts with the blocks have expired; 0 if one of the parts never does.

    None if no parts with rows have the blocks.
    """
    if uncovered([blocks], names):
        return None
    found = [
        times.get(each.text, 0)
        for each in names
        if each.min_block <= blocks.last and blocks.first <= each.max_block
    ]
    return max(found) if all(found) else 0


def _earlier(one: int, other: int) -> int:
    """Return the earlier of two times, each 0 for never."""
    return min(one, other) if one and other else one or other
