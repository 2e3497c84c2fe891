# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The closed vocabulary of an audit of twins.

Every partition is of exactly one kind, and so is every replica whose tables are not as they must be.
"""

from __future__ import annotations

from ...findings.vocabulary import Texts, Vocabulary


class TwinKind(Vocabulary):
    """What a partition is between a table and its cold twin; the worst first.

    Parts are *equal* that have the same number of rows and the same two hashes, whatever their names.
    """

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
        """What is said of the kind."""
        return _TEXTS[self]

    @property
    def is_seen_twice(self) -> bool:
        """Whether readers of both tables see rows of the partition twice, or may see them so."""
        return self in _SEEN_TWICE

    @property
    def is_begun(self) -> bool:
        """Whether a run has begun with the partition, and another one goes on."""
        return _TEXTS[self].remedy == _AGAIN


_AGAIN = "twin_move with the partition, whatever the state: it goes on from there"

_TEXTS = {
    TwinKind.UNKNOWN: Texts(
        "it is between the tables, and what they have of it fits no state that a run leaves",
        "Give the first statement told. Where both lines of its answer are the same, give the others; else"
        " find out which rows are missing where, and drop by name what is there twice. Then delete the znode"
        " told, and run twin_move again",
    ),
    TwinKind.EQUAL: Texts(
        "both tables have it, each part of the table equals one of the twin, and no record tells of a clone",
        "If these are the same rows, give the statements told, which drop them from the table and leave them"
        " in the twin. If they were inserted twice, OPTIMIZE the partition in one of the tables",
    ),
    TwinKind.EQUAL_IN_PART: Texts(
        "both tables have it, some parts of the table equal some of the twin, and no record tells of a clone",
        "If these are the same rows, give the statements told, which drop them from the table and leave them"
        " in the twin. If they were inserted twice, OPTIMIZE the partition in one of the tables",
    ),
    TwinKind.AS_MANY_ROWS: Texts(
        "both tables have it with as many rows, no part equals another, and there is no record",
        "Give the first statement told. Where both lines of its answer are the same, the rows are there"
        " twice, and the other statements drop them from the table. Else rows came late: twin_move",
    ),
    TwinKind.RECORD_UNREADABLE: Texts(
        "its record is of another version, or something else",
        "Use the version of olap.partmove that wrote it, or find out what did",
    ),
    TwinKind.RECORD_ELSEWHERE: Texts(
        "its record is about other tables: the twin has another name or path now, or was made anew",
        "Give twin as it was when the record was written. If that twin is gone, delete the znode told, and"
        " audit again",
    ),
    TwinKind.TABLE_GONE: Texts(
        "a record is left of a table that the hot ensemble does not have any more",
        "See what the twin has of it. Delete the znode told when nobody needs it any more",
    ),
    TwinKind.EXCHANGED_IN_PART: Texts(
        "the names of the table and its twin are exchanged on this replica, and not on all",
        "table_move as before: it goes on from there. Create no twin before",
    ),
    TwinKind.TWIN_MISSING: Texts(
        "the replica has no twin, though there is one or a record of one",
        "twin_table creates it, and the replica fetches what the others have",
    ),
    TwinKind.TWIN_ELSEWHERE: Texts(
        "a table of the replica is not at the place where it must be",
        "See the reason. Make the twin anew at the path of the others while it is empty, or give it as twin",
    ),
    TwinKind.NOT_READY: Texts(
        "a table of the replica has no session with its ensemble, or lacks other replicas",
        "See that the servers of all replicas run and reach both ensembles, and audit again",
    ),
    TwinKind.TWIN_UNLIKE: Texts(
        "the two tables, or those of two replicas, are not written alike, so that no partition can be moved",
        "ALTER one of them until columns, keys, indices, projections, TTL, settings and storage policy are"
        " alike",
    ),
    TwinKind.UNEVEN: Texts(
        "the replicas have different parts of it",
        "Wait until they have the same (SYSTEM SYNC REPLICA); CHECK TABLE where it stays so",
    ),
    TwinKind.CLONED: Texts(
        "a run has cloned it, or a part of it, and has not compared that yet or is undoing it", _AGAIN
    ),
    TwinKind.ATTACHED: Texts("a run has cloned it and has not begun to drop where it came from", _AGAIN),
    TwinKind.DROPPED_PARTLY: Texts("a run has cloned it and dropped some parts where it came from", _AGAIN),
    TwinKind.MERGED: Texts("a run has cloned parts that were merged since where they came from", _AGAIN),
    TwinKind.DROPPED: Texts("a run has moved it, and has not removed the record yet", _AGAIN),
    TwinKind.RECORDED: Texts("a run has written its record and done nothing else", _AGAIN),
    TwinKind.STALE: Texts("nothing was cloned, and what its record says has changed since", _AGAIN),
    TwinKind.WITHOUT_PARTS: Texts("it has a record, and neither table has a part of it any more", _AGAIN),
    TwinKind.INSERTED: Texts(
        "parts of the twin came by an INSERT, which a move takes for something unknown",
        "Find out who inserts into the twin, and let it insert into the table; the rows may stay where they"
        " are",
    ),
    TwinKind.LATE: Texts(
        "both tables have it, with different rows, as after an insert that came late",
        "twin_move with the state that it shall have; nothing is wrong until then",
    ),
    TwinKind.NOT_JUDGED: Texts(
        "it could not be found out, as a server did not answer or a run is at work",
        "See the reason, and audit again",
    ),
    TwinKind.COLD: Texts("the twin has it, and the table has none of it"),
    TwinKind.HOT: Texts("the table has it, and the twin has none of it"),
    TwinKind.EXCHANGED: Texts("the table is in the auxiliary ensemble as a whole, and its name with it"),
    TwinKind.WITHOUT_TWIN: Texts("the table has no twin on any replica, and there is no record"),
}

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
