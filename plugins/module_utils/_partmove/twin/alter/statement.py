# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The statements that twin_alter executes on both tables, as values.

A statement is the text that follows ``ALTER TABLE <name>``, or a TRUNCATE. The server parses the text, and
its syntax tree names the kind of each command. A kind that is not known here is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ...errors import FormatError
from ...formats.sql import identifier, literal
from ...text import first_few
from ..move.tables import Side, TwinTables
from .conditions import reads_table
from .words import Word, words_of


class AlterKind(str, Enum):
    """What decides whether a statement took effect on a table; see `steps`."""

    STRUCTURE = "structure"
    """Changes the definition: columns, indices, projections, constraints, TTL, settings, comments."""
    MUTATION = "mutation"
    """UPDATE or DELETE: a second execution would change rows again."""
    REWRITE = "rewrite"
    """MATERIALIZE and CLEAR: a second execution changes nothing."""
    DROP = "drop"
    """DROP or DETACH PARTITION, and TRUNCATE: a second execution would take later inserts, too."""
    ATTACH = "attach"
    """ATTACH PARTITION from ``detached/``: a second execution attaches only what is still there."""
    REPLACE = "replace"
    """REPLACE PARTITION in the table, and DROP PARTITION in the twin."""
    RENAME = "rename"
    """New names for both tables, on each replica."""


_STRUCTURE = (
    *("ADD_COLUMN", "DROP_COLUMN", "MODIFY_COLUMN", "RENAME_COLUMN", "COMMENT_COLUMN"),
    *("MODIFY_TTL", "REMOVE_TTL", "MODIFY_ORDER_BY", "MODIFY_SAMPLE_BY", "REMOVE_SAMPLE_BY"),
    *("ADD_INDEX", "DROP_INDEX", "ADD_CONSTRAINT", "DROP_CONSTRAINT", "ADD_PROJECTION", "DROP_PROJECTION"),
    *("ADD_STATISTICS", "DROP_STATISTICS", "MODIFY_STATISTICS"),
    *("MODIFY_SETTING", "RESET_SETTING", "MODIFY_COMMENT"),
)
_REWRITE = (
    *("MATERIALIZE_COLUMN", "MATERIALIZE_INDEX", "MATERIALIZE_PROJECTION", "MATERIALIZE_TTL"),
    *("MATERIALIZE_STATISTICS", "APPLY_DELETED_MASK"),
)
_KINDS: Mapping[str, AlterKind] = {
    **dict.fromkeys(_STRUCTURE, AlterKind.STRUCTURE),
    **dict.fromkeys(_REWRITE, AlterKind.REWRITE),
    **dict.fromkeys(("UPDATE", "DELETE"), AlterKind.MUTATION),
    "DROP_PARTITION": AlterKind.DROP,
    "ATTACH_PARTITION": AlterKind.ATTACH,
    "REPLACE_PARTITION": AlterKind.REPLACE,
}
_OF_EACH_REPLICA = frozenset({"MODIFY_SETTING", "RESET_SETTING", "MODIFY_COMMENT", "COMMENT_COLUMN"})
"""Commands that a server executes on its own replica alone."""
_COLUMNS = frozenset({"ADD_COLUMN", "DROP_COLUMN", "MODIFY_COLUMN", "RENAME_COLUMN"})
_OF_PARTITION = frozenset({AlterKind.DROP, AlterKind.ATTACH, AlterKind.REPLACE})
_ALONE = _OF_PARTITION | {AlterKind.MUTATION}
_COMMAND = re.compile(r"  AlterCommand (\w+)(?: \(.*)?")
_OF_STATEMENT = re.compile(r" (?:ExpressionList|(?P<name>Identifier))\b.*")
_NAMES = 2
"""Identifiers of a statement: of its database and of its table. One more is that of FORMAT."""
_LEAVING = re.compile(r"   Identifier (?P<name>.*)")
_TRUNCATE = "TRUNCATE"
_HOLD = "Place a hold with twin_hold, execute the statement on both tables by hand, and remove the hold"


class Statement(NamedTuple):
    """A statement for both tables."""

    kind: AlterKind
    text: str
    """The text after ``ALTER TABLE <name>``; TRUNCATE for that statement."""
    partition: str = ""
    """The partition of DROP and ATTACH; "" for other kinds, and for TRUNCATE."""
    leaving: tuple[str, ...] = ()
    """Columns that readers lose: dropped ones, and the former names of renamed ones."""
    of_each_replica: bool = False
    """Whether the servers execute the statement on their own replica alone."""
    of_columns: bool = False
    """Whether the statement changes the columns that readers see."""
    names: tuple[str, ...] = ()
    """For RENAME: the names of the table and of the twin, before and after."""

    def sql(self, tables: TwinTables, side: Side, token: str) -> str:
        """Return the SQL for one of the two tables. ``token``: identifies the mutation of this statement."""
        table = tables.on(side).sql_name
        if self.kind is AlterKind.RENAME:
            new = f"{identifier(tables.hot.database)}.{identifier(self.new_name(side))}"
            return f"RENAME TABLE {table} TO {new}"
        if self.text == _TRUNCATE:
            return f"TRUNCATE TABLE {table}"
        if self.kind is AlterKind.REPLACE and side is Side.COLD:
            return f"ALTER TABLE {table} DROP PARTITION ID {literal(self.partition)}"
        text = _marked(self.text, token) if self.kind is AlterKind.MUTATION else self.text
        return f"ALTER TABLE {table} {text}"

    @property
    def is_delete(self) -> bool:
        """Whether the statement is a DELETE, which may leave partitions without rows."""
        return self.kind is AlterKind.MUTATION and words_of(self.text)[0].value == "DELETE"

    def new_name(self, side: Side) -> str:
        """Return the new name of one of the two tables, for RENAME."""
        return self.names[2 if side is Side.HOT else 3]


def mark_of(token: str) -> str:
    """Return the text in the condition of a mutation that identifies its statement."""
    return f"olap.partmove {token}"


def truncate() -> Statement:
    """Return the statement that empties both tables."""
    return Statement(AlterKind.DROP, _TRUNCATE)


def rename(tables: TwinTables, name: str, twin: str) -> Statement:
    """Return the statement that renames the table to ``name``, and its twin to ``twin``."""
    names = (tables.hot.name, tables.cold.name, name, twin)
    return Statement(AlterKind.RENAME, f"RENAME TO {identifier(name)}", names=names)


def check_text(text: str) -> None:
    """Raise FormatError for a text that no server may parse: comments, several statements, or ON CLUSTER."""
    words = words_of(text)
    if not words:
        raise FormatError("The statement is empty", remedy="Give the text that follows ALTER TABLE <name>")
    if words[0].value in ("ON", "("):
        raise FormatError(
            f"The statement begins with {words[0].value}",
            remedy="Give the commands alone, without ON CLUSTER and without brackets around them",
        )


def parse_alter(text: str, tree: Sequence[str]) -> Statement:
    """Return the statement of a text. ``tree``: the syntax tree of the server. Raises FormatError."""
    text = text.strip()
    check_text(text)
    words = words_of(text)
    commands = _commands_of(tree)
    kind = _common_kind(commands, words)
    if kind is AlterKind.MUTATION and reads_table(words, tree):
        raise FormatError(
            "The statement reads another table, whose answer may differ between the two tables",
            remedy=f"Give the values as a list. Or: {_HOLD}",
        )
    local = {each in _OF_EACH_REPLICA for each in commands}
    if len(local) > 1:
        raise FormatError(
            f"Only some of {', '.join(commands)} are replicated",
            remedy="Give the others as a statement of their own",
        )
    partition = _partition_of(words, kind) if kind in _OF_PARTITION else ""
    if kind is not AlterKind.STRUCTURE:
        statement = Statement(kind, text, partition)
    else:
        of_columns = not _COLUMNS.isdisjoint(commands)
        statement = Statement(kind, text, partition, _leaving(tree), True in local, of_columns)
    if kind is AlterKind.MUTATION:
        _marked(text, "")
    return statement


def _commands_of(tree: Sequence[str]) -> list[str]:
    """Return the commands of a syntax tree. Raises FormatError if the statement has clauses of its own."""
    clauses = [(line, _OF_STATEMENT.fullmatch(line)) for line in tree[1:] if line[1:2] != " "]
    others = [line for line, known in clauses if known is None]
    others += [line for line, known in clauses if known and known["name"]][_NAMES:]
    if others:
        raise FormatError(
            f"The statement ends in clauses of its own: {first_few(each.strip() for each in others)}",
            remedy="Leave SETTINGS and FORMAT out: the statement needs its own settings",
        )
    return [match[1] for match in map(_COMMAND.fullmatch, tree) if match]


def _common_kind(commands: Sequence[str], words: Sequence[Word]) -> AlterKind:
    """Return the kind of all commands. Raises FormatError for commands that are not executed together."""
    kinds = {_kind_of(each) for each in commands}
    if kinds == {AlterKind.STRUCTURE} and _clears(words):
        return AlterKind.REWRITE
    if len(kinds) != 1 or (kinds & _ALONE and len(commands) > 1):
        raise FormatError(
            f"The statement has the commands {', '.join(commands)}, which are not executed together",
            remedy="Give each of them as a statement of its own",
        )
    return kinds.pop()


def _kind_of(command: str) -> AlterKind:
    if command not in _KINDS:
        raise FormatError(
            f"{command.replace('_', ' ')} is no kind of statement that is the same for both tables",
            remedy=_HOLD,
        )
    return _KINDS[command]


def _clears(words: Sequence[Word]) -> bool:
    """Whether the commands clear columns, indices or projections in the parts, and drop none."""
    verbs = [word.value for word in _first_of_commands(words)]
    if "CLEAR" in verbs and set(verbs) != {"CLEAR"}:
        raise FormatError(
            "The statement has CLEAR beside other commands",
            remedy="Give each of them as a statement of its own",
        )
    return "CLEAR" in verbs


def _first_of_commands(words: Sequence[Word]) -> list[Word]:
    """Return the first word of the text, and each word after a comma outside of brackets."""
    commas = [index for index, word in enumerate(words) if word.value == "," and not word.depth]
    return [words[index] for index in (0, *(each + 1 for each in commas)) if index < len(words)]


def _partition_of(words: Sequence[Word], kind: AlterKind) -> str:
    """Return the id of the partition of a statement that is written as ``DROP PARTITION ID '…'``."""
    shape = [word.value if word.kind == "word" else word.kind for word in words[:4]]
    if kind is AlterKind.REPLACE:
        # For the server, ATTACH PARTITION … FROM is a REPLACE. A table without a database is in the default
        # one of the user.
        of_table = (*words[4:5], *words[6:7])
        is_whole = len(words) == 8 and [word.value for word in of_table] == ["FROM", "."]
        shape = shape if is_whole and shape[0] == "REPLACE" else []
    elif len(words) != 4:
        shape = []
    if shape[1:] == ["PARTITION", "ID", "text"]:
        partition = words[3].value[1:-1]
        if re.fullmatch(r"[\w-]+", partition, re.ASCII):
            return partition
    raise FormatError(
        "The statement is not written as DROP, DETACH or ATTACH PARTITION ID '…', nor as REPLACE PARTITION ID"
        " '…' FROM database.table",
        remedy="Name one partition by its id (system.parts.partition_id), and no part",
    )


def _leaving(tree: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that readers lose, from the lines after their commands in the tree."""
    found: list[str] = []
    for line, following in zip(tree, tree[1:]):
        command = _COMMAND.fullmatch(line)
        column = _LEAVING.fullmatch(following)
        if command and column and command[1] in ("DROP_COLUMN", "RENAME_COLUMN"):
            found.append(column["name"])
    return tuple(found)


def _marked(text: str, token: str) -> str:
    """Return the text of a mutation with a condition that is always true, and identifies the statement.

    The server keeps the condition in system.mutations.

    >>> _marked("DELETE WHERE a OR b", "x")
    "DELETE WHERE (a OR b) AND 'olap.partmove x' != ''"
    """
    where = [
        word for word in words_of(text) if word.value == "WHERE" and word.kind == "word" and not word.depth
    ]
    if len(where) != 1:
        raise FormatError(
            "The statement has no WHERE, or several", remedy="Write UPDATE … WHERE … or DELETE WHERE …"
        )
    begin = where[0].begin + len("WHERE")
    return " ".join((text[:begin], f"({text[begin:].strip()})", "AND", literal(mark_of(token)), "!= ''"))
