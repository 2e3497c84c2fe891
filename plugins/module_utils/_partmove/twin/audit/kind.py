# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kinds of findings of an audit of twins: a closed vocabulary.

Every partition has exactly one kind, and so has every replica whose tables are unfit for a move.
"""

from __future__ import annotations

from ...findings.vocabulary import Texts, Vocabulary


class TwinKind(Vocabulary):
    """The kinds of partitions, replicas and tables, the most urgent first.

    Two parts are *equal* if they have the same number of rows and the same two hashes, whatever their names.
    """

    LOST = "lost"
    SET_ASIDE = "set_aside"
    TWIN_GONE = "twin_gone"
    TWIN_REPLACED = "twin_replaced"
    TABLE_REPLACED = "table_replaced"
    UNKNOWN = "unknown"
    EQUAL = "equal"
    EQUAL_IN_PART = "equal_in_part"
    AS_MANY_ROWS = "as_many_rows"
    RECORD_UNREADABLE = "record_unreadable"
    RECORD_ELSEWHERE = "record_elsewhere"
    TABLE_GONE = "table_gone"
    EXCHANGED_IN_PART = "exchanged_in_part"
    TWIN_MISSING = "twin_missing"
    TWIN_ELSEWHERE = "twin_elsewhere"
    NOT_READY = "not_ready"
    TWIN_UNLIKE = "twin_unlike"
    POLICY_LEFT = "policy_left"
    UNEVEN = "uneven"
    CLONED = "cloned"
    ATTACHED = "attached"
    DROPPED_PARTLY = "dropped_partly"
    MERGED = "merged"
    DROPPED = "dropped"
    RECORDED = "recorded"
    STALE = "stale"
    WITHOUT_PARTS = "without_parts"
    INSERTED = "inserted"
    LATE = "late"
    NOT_JUDGED = "not_judged"
    COLD = "cold"
    HOT = "hot"
    EXCHANGED = "exchanged"
    WITHOUT_TWIN = "without_twin"

    @property
    def texts(self) -> Texts:
        """The meaning and the remedy of the kind."""
        return _TEXTS[self]

    @property
    def is_seen_twice(self) -> bool:
        """Whether readers of both tables see rows of the partition twice, or may see them twice."""
        return self in _SEEN_TWICE

    @property
    def is_missing(self) -> bool:
        """Whether rows that the ledger lists are not in the twin, or may not be."""
        return self in _MISSING

    @property
    def is_begun(self) -> bool:
        """Whether a run has begun to move the partition, and the next run finishes the move."""
        return self in _BEGUN


_AGAIN = "Run twin_move with the partition and either state: it continues from there"

_BY_HAND = "If all of it was dropped on purpose, run twin_ledger with the state dropped"

_TEXTS = {
    TwinKind.LOST: Texts(
        "the twin lacks rows of the partition that the ledger lists, or has them under other block numbers",
        "Insert and move nothing until the rows are found: in detached/ of the twin on every replica, in the"
        f" table, or in a backup of the twin or of the auxiliary ensemble. {_BY_HAND}",
    ),
    TwinKind.SET_ASIDE: Texts(
        "the twin lacks rows of the partition that the ledger lists, and its servers moved parts with them to"
        " detached/",
        "Run twin_repair with the kind, in check mode first: it attaches what the twin certainly lacks. If a"
        " folder has a reason in front of the name of its part, the repair names the command that renames the"
        " folder. Delete nothing in detached/ before an audit is consistent",
    ),
    TwinKind.TWIN_GONE: Texts(
        "the ledger lists partitions, and no replica has the twin",
        "Create no twin. If the reason names a table, RENAME it to the name of the twin, or set twin to its"
        f" name; else UNDROP it or restore it from a backup. {_BY_HAND}",
    ),
    TwinKind.TWIN_REPLACED: Texts(
        "the twin is another table than the twin of the ledger",
        "Keep both tables. If all replicas were replaced, run twin_ledger with the state entered: it accepts"
        " the twin that has the rows, and changes no table. Else RENAME the twin of the ledger back to its"
        " name, or UNDROP it. Only if the twin certainly lacks rows, copy these from a backup into the twin,"
        f" and run twin_ledger with the state entered. {_BY_HAND}",
    ),
    TwinKind.TABLE_REPLACED: Texts(
        "the table is another one than the table of the ledger, and the twin has rows of the former table",
        "If all replicas were replaced, it is the same table: run twin_ledger with the state entered. Else"
        " decide whether the rows of the twin belong to the new table. If so, run twin_ledger with the state"
        " entered. If not, RENAME the twin to a name that no reading table has, and run twin_ledger with the"
        " state dropped",
    ),
    TwinKind.UNKNOWN: Texts(
        "the partition is between the tables, and its parts fit no state that a run leaves",
        "Run twin_repair with the kind, in check mode first: it compares the rows of both tables, and"
        " detaches only parts whose rows the other table has",
    ),
    TwinKind.EQUAL: Texts(
        "both tables have the partition, each part of the table equals a part of the twin, and no record"
        " explains the copies",
        "If these are the same rows, run twin_repair with the kind: it detaches the parts from the table, and"
        " leaves them in the twin. If the rows were inserted twice, OPTIMIZE the partition in one of the"
        " tables",
    ),
    TwinKind.EQUAL_IN_PART: Texts(
        "both tables have the partition, some parts of the table equal parts of the twin, and no record"
        " explains the copies",
        "If these are the same rows, run twin_repair with the kind: it detaches the parts from the table, and"
        " leaves them in the twin. If the rows were inserted twice, OPTIMIZE the partition in one of the"
        " tables",
    ),
    TwinKind.AS_MANY_ROWS: Texts(
        "both tables have the partition with the same number of rows, no part equals a part of the other"
        " table, and there is no record",
        "Run twin_repair with the kind, in check mode first: it compares the rows, and detaches parts of the"
        " table whose rows the twin has. If no row is in both tables, rows came late: run twin_move",
    ),
    TwinKind.RECORD_UNREADABLE: Texts(
        "the znode of its record or of the ledger has another version or other contents",
        "Use the version of olap.partmove that wrote it, or find out which client wrote it",
    ),
    TwinKind.RECORD_ELSEWHERE: Texts(
        "its record is about other tables: the twin has another name or path now, or was created again",
        "Set twin to the name that the twin had when the record was written. Only if no server has that twin"
        " any more, not even detached, delete the znode of the finding, and audit again",
    ),
    TwinKind.TABLE_GONE: Texts(
        "a record or a ledger exists, and the hot ensemble no longer has its table",
        "Check what the twin has. Only if no server has the table any more, not even detached, and nobody"
        " needs what the znode of the finding lists, delete this znode",
    ),
    TwinKind.EXCHANGED_IN_PART: Texts(
        "the names of the table and its twin are exchanged on this replica, and not on all",
        "Run table_move as before: it continues from there. Create no twin before",
    ),
    TwinKind.TWIN_MISSING: Texts(
        "the replica has no twin, although another replica has one or a record exists",
        "Run twin_table: it creates the twin, and the replica fetches the parts of the other replicas",
    ),
    TwinKind.TWIN_ELSEWHERE: Texts(
        "a table of the replica is not at its required path or ensemble",
        "See the reason. While the twin is empty, create it again at the path of the other replicas, or"
        " set twin to its name",
    ),
    TwinKind.NOT_READY: Texts(
        "a table of the replica has no session with its ensemble, has lost its znodes, or does not have the"
        " replicas of the other table",
        "If the znodes of the twin are lost, run twin_repair with the kind. Else run the statements of the"
        " reason, or check that the servers of all replicas run and reach both ensembles. Then audit again",
    ),
    TwinKind.TWIN_UNLIKE: Texts(
        "the definitions of the two tables or of two replicas differ, so that no partition can be moved",
        "ALTER one of them until columns, keys, indices, projections, TTL, settings and storage policy"
        " are alike",
    ),
    TwinKind.POLICY_LEFT: Texts(
        "a reading table of the replica has the row policy of a move, and there is neither a record nor a"
        " run, so that rows may be hidden from readers",
        "Run the statement in the reason on the replica. As long as the names of the tables are not"
        " exchanged, twin_move for a partition of the table removes the policy too",
    ),
    TwinKind.UNEVEN: Texts(
        "the replicas have different parts of the partition",
        "Wait until they have the same parts (SYSTEM SYNC REPLICA); CHECK TABLE if they keep differing",
    ),
    TwinKind.CLONED: Texts(
        "a run has cloned parts of the partition, and has not verified the clones yet or is undoing them",
        _AGAIN,
    ),
    TwinKind.ATTACHED: Texts(
        "a run has cloned the partition and has not begun to drop the parts of the source",
        _AGAIN,
    ),
    TwinKind.DROPPED_PARTLY: Texts(
        "a run has cloned the partition and dropped some parts of the source",
        _AGAIN,
    ),
    TwinKind.MERGED: Texts(
        "a run has cloned parts that the source has merged since",
        _AGAIN,
    ),
    TwinKind.DROPPED: Texts(
        "a run has moved the partition, and has not removed the record yet",
        _AGAIN,
    ),
    TwinKind.RECORDED: Texts(
        "a run has written the record of the partition and done nothing else",
        _AGAIN,
    ),
    TwinKind.STALE: Texts(
        "no part was cloned, and the source has changed since the record was written",
        _AGAIN,
    ),
    TwinKind.WITHOUT_PARTS: Texts(
        "the partition has a record, and neither table has a part of it any more",
        _AGAIN,
    ),
    TwinKind.INSERTED: Texts(
        "an INSERT wrote parts of the twin, which a move counts as unknown parts",
        "Find out which client inserts into the twin, and let it insert into the table; the rows may stay"
        " in the twin",
    ),
    TwinKind.LATE: Texts(
        "both tables have the partition with different rows, for example after a late insert",
        "Run twin_move with the desired state; the data is consistent until then",
    ),
    TwinKind.NOT_JUDGED: Texts(
        "the audit could not judge it, because a server did not answer or a run is in progress",
        "See the reason, and audit again",
    ),
    TwinKind.COLD: Texts(
        "only the twin has the partition",
    ),
    TwinKind.HOT: Texts(
        "only the table has the partition",
    ),
    TwinKind.EXCHANGED: Texts(
        "the whole table is in the auxiliary ensemble, and has the name",
    ),
    TwinKind.WITHOUT_TWIN: Texts(
        "the table has no twin on any replica, and there is no record",
    ),
}

_MISSING = frozenset(
    {TwinKind.LOST, TwinKind.SET_ASIDE, TwinKind.TWIN_GONE, TwinKind.TWIN_REPLACED, TwinKind.TABLE_REPLACED}
)
_SEEN_TWICE = frozenset(
    {
        TwinKind.UNKNOWN,
        TwinKind.EQUAL,
        TwinKind.EQUAL_IN_PART,
        TwinKind.AS_MANY_ROWS,
        TwinKind.CLONED,
        TwinKind.ATTACHED,
        TwinKind.DROPPED_PARTLY,
        TwinKind.MERGED,
    }
)
_BEGUN = frozenset(
    {
        TwinKind.CLONED,
        TwinKind.ATTACHED,
        TwinKind.DROPPED_PARTLY,
        TwinKind.MERGED,
        TwinKind.DROPPED,
        TwinKind.RECORDED,
        TwinKind.STALE,
        TwinKind.WITHOUT_PARTS,
    }
)
