# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gates of a move between twins, checked before any statement is executed.

Every gate fails closed: if a server does not report a value, the partition is not moved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import PartMoveError
from ...formats.inner_tables import INNER_REMEDY, InnerTable, inner_reason, is_inner
from ...formats.layout import DEFAULT_ENSEMBLE
from ...formats.sql import literal
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...text import first_few
from .disks import refuse_disks
from .droppable import refuse_undroppable
from .record import contents
from .tables import ActivityInProgress, Parts, PartsOf, Side, TwinTables

_VALUE = r"(?:'(?:[^'\\]|\\.)*'|[^\s,']+)"
_SETTING = re.compile(rf"(\w+) = ({_VALUE})")
_DEFINITION = re.compile(
    rf"(?P<rest>.*?)(?: SETTINGS (?P<settings>\w+ = {_VALUE}(?:, \w+ = {_VALUE})*))?", re.DOTALL
)


def server_failed(error: PartMoveError) -> Refusal:
    """Return the refusal of partitions when a server fails to answer, or answers with an error."""
    if isinstance(error, InnerTable):
        return Refusal(GateName.NOT_INNER, error.message, error.remedy or INNER_REMEDY)
    remedy = error.remedy or "See that the server of every replica runs and answers, and run again"
    return Refusal(GateName.TWIN_READY, error.message, remedy)


def refuse_tables(shard_path: str, found: Sequence[TwinTables]) -> Refusal | None:
    """Return why no partition of a shard path may be moved; None if its tables on all replicas are fit."""
    for tables in found:
        for each in (tables.hot, tables.cold):
            if is_inner(each.name):
                return Refusal(
                    GateName.NOT_INNER, f"{tables.server}: {inner_reason(str(each))}", INNER_REMEDY
                )
    replicas = len({each.replica.name for each in found})
    for tables in found:
        problem = readiness_problem(tables, replicas)
        if problem:
            return Refusal(
                GateName.TWIN_READY,
                f"{tables.server}: {problem}",
                "See that every replica has both tables, runs and has its sessions, and run again",
            )
    for tables in found:
        problem = placement_problem(shard_path, tables, found[0]) or definition_problem(tables, found[0])
        if problem:
            return Refusal(
                GateName.TWIN_ALIKE,
                f"{tables.server}: {problem}",
                "ALTER one of them, or recreate the twin while it is empty, until columns, keys, indices,"
                " projections, TTL and settings are written alike on every replica, and the storage policy on"
                " each replica",
            )
    return None


def readiness_problem(tables: TwinTables, replicas: int) -> str:
    """Return why a move cannot use a table of the replica; "" if it can use both.

    replicas: the number of replicas in the hot ensemble.
    """
    for side in Side:
        table = tables.on(side)
        if table.problem:
            return f"{table} {table.problem}"
        gone = sorted({*table.replicas} - {*tables.on(side.other).replicas})
        if gone and tables.on(side.other).replicas and side is not tables.home:
            return (
                f"{table} registers the replica {gone[0]}, which {tables.on(side.other)} lacks: if it is gone"
                f" for good, run SYSTEM DROP REPLICA {literal(gone[0])} FROM TABLE {table.sql_name} on"
                f" another replica, else create {tables.on(side.other)} there"
            )
        if table.replica != tables.replica.name:
            return f"{table} is replica {table.replica}, and the hot table is replica {tables.replica.name}"
        if table.total_replicas != replicas or table.active_replicas != replicas:
            return (
                f"{table} has {table.active_replicas} of {table.total_replicas} replicas active, and the hot"
                f" ensemble registers {replicas}"
            )
    return ""


def placement_problem(shard_path: str, tables: TwinTables, first: TwinTables) -> str:
    """Return the table in the wrong place; "" if none is. ``first``: the tables of the first replica."""
    cold, home, away = tables.cold, tables.on(tables.home), tables.on(tables.home.other)
    if home.ensemble != DEFAULT_ENSEMBLE or home.path != shard_path:
        return f"{home} is at {home.place}, and not at {shard_path} of the default ensemble"
    if away.ensemble == DEFAULT_ENSEMBLE:
        return f"{away} is in the default ensemble, and not in an auxiliary one"
    if cold.place != first.cold.place:
        return f"{cold} is at {cold.place}, and at {first.cold.place} on {first.server}"
    return ""


def definition_problem(tables: TwinTables, first: TwinTables) -> str:
    """Return how the tables of a replica differ from each other or from ``first``; "" if they do not."""
    hot, cold = tables.hot, tables.cold
    if hot.definition != cold.definition:
        return f"{hot} and {cold} differ: {first_difference(hot.definition, cold.definition)}"
    if shared_definition(hot.definition) != shared_definition(first.hot.definition):
        return f"{hot} differs from {first.server}: {first_difference(hot.definition, first.hot.definition)}"
    return ""


def shared_definition(definition: str) -> str:
    """Return the definition without the storage policy, which may be another one on each replica.

    >>> shared_definition("() ORDER BY d SETTINGS a = 1, storage_policy = 'x'")
    '() ORDER BY d SETTINGS a = 1'
    """
    found = _DEFINITION.fullmatch(definition)
    if found is None or not found["settings"]:
        return definition
    settings = [each[0] for each in _SETTING.finditer(found["settings"]) if each[1] != "storage_policy"]
    return found["rest"] + (f" SETTINGS {', '.join(settings)}" if settings else "")


def first_difference(first: str, second: str) -> str:
    """Return the settings that differ.

    Of definitions that differ in more than settings, return the first difference, with 20 characters before
    and 40 after it.

    >>> first_difference("() ORDER BY d SETTINGS a = 1, b = 2", "() ORDER BY d SETTINGS a = 1, b = 'c'")
    "b = 2 and b = 'c'"
    """
    return _settings_difference(first, second) or _text_difference(first, second)


def _settings_difference(first: str, second: str) -> str:
    """Return the settings that differ, with both values; "" if anything else differs."""
    found = [_DEFINITION.fullmatch(each) for each in (first, second)]
    if found[0] is None or found[1] is None or found[0]["rest"] != found[1]["rest"]:
        return ""
    one, other = (dict(_SETTING.findall(each["settings"] or "")) for each in found if each)
    names = sorted(name for name in {**one, **other} if one.get(name) != other.get(name))
    shown = [
        ", ".join(f"{name} = {each[name]}" if name in each else f"without {name}" for name in names)
        for each in (one, other)
    ]
    return " and ".join(shown) if names else ""


def _text_difference(first: str, second: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(first, second)) if a != b), min(len(first), len(second)))
    begin = max(0, at - 20)
    return f"{first[begin : at + 40]!r} and {second[begin : at + 40]!r}"


class GateInput(NamedTuple):
    """The input of the gates for a single partition. The sequences are in the order of the replicas."""

    partition_id: str
    tables: Sequence[TwinTables]
    parts: Sequence[PartsOf]
    activity: Sequence[ActivityInProgress]


def refuse_uneven(tables: Sequence[TwinTables], parts: Sequence[PartsOf]) -> Refusal | None:
    """Return the first difference between the parts of replicas; None if all replicas have equal parts."""
    for side in Side:
        first = contents(parts[0].on(side))
        for each, replica_parts in zip(tables, parts):
            current = contents(replica_parts.on(side))
            if current != first:
                other = min(current.items() ^ first.items())[0]
                return Refusal(
                    GateName.TWIN_EVEN,
                    f"{each.on(side)} has not the same part {other} on {tables[0].server} and {each.server}",
                    "Wait until the replicas have the same parts (SYSTEM SYNC REPLICA) and run again; CHECK"
                    " TABLE if they keep differing",
                )
    return None


def refuse_activity(gate_input: GateInput) -> Refusal | None:
    """Refuse a partition during activity that a move must not meet, of the partition or of a whole table."""
    for tables, activity in zip(gate_input.tables, gate_input.activity):
        reasons = [*activity.of_table, *activity.of_partition.get(gate_input.partition_id, ())]
        if reasons:
            return Refusal(
                GateName.TWIN_AT_REST,
                f"{tables.server}: {first_few(reasons)}",
                "Wait until that is done (system.replication_queue, system.mutations, system.merges), attach"
                " detached parts, or drop them only if nobody needs their rows, and run again",
            )
    return None


def refuse_start(gate_input: GateInput, destination: Side, min_age: float) -> Refusal | None:
    """Return why a partition without a record may not be moved; None if it may.

    Its age comes last: a partition that is only too young may move once its table has exchanged names.
    """
    replica_parts = gate_input.parts[0]
    source, held = replica_parts.on(destination.other), replica_parts.on(destination)
    refusal = (
        refuse_activity(gate_input)
        or _refuse_contents(source, held)
        or _refuse_disks(gate_input, destination)
        or refuse_undroppable(gate_input.tables[0], gate_input.activity[0], source)
    )
    if refusal is None and destination is Side.COLD:
        refusal = _refuse_young(gate_input, min_age)
    return refusal


def _refuse_contents(source: Parts, held: Parts) -> Refusal | None:
    """Refuse parts that cannot be distinguished by their content."""
    twice = [content for content, count in Counter(part.content for part in source).items() if count > 1]
    if twice:
        names = [part.name for part in source if part.content == twice[0]]
        return Refusal(
            GateName.PARTS_DISTINCT,
            f"parts {first_few(names)} are equal, and ATTACH clones only one of them",
            "OPTIMIZE TABLE … PARTITION ID … FINAL, and run again",
        )
    known = {part.content: part.name for part in held}
    for part in source:
        if part.content in known:
            return Refusal(
                GateName.TWIN_APART,
                f"part {part.name} of the source equals part {known[part.content]} of the destination, and no"
                " record of a run explains the copy",
                "Find out whether these are the same rows. If so, drop one of the two by its name. If they"
                " were inserted twice, OPTIMIZE the partition in one of the tables",
            )
    return None


def _refuse_young(gate_input: GateInput, min_age: float) -> Refusal | None:
    for tables, replica_parts, activity in zip(gate_input.tables, gate_input.parts, gate_input.activity):
        newest = max(part.modified for part in replica_parts.hot)
        age = max(activity.now - newest, 0.0)
        if age < min_age:
            return Refusal(
                GateName.OLD_ENOUGH,
                f"its newest part is {age:.0f} s old on {tables.server}, min_age is {min_age:.0f} s",
                "Run again later, or lower min_age",
            )
    return None


def _refuse_disks(gate_input: GateInput, destination: Side) -> Refusal | None:
    replicas = zip(gate_input.tables, gate_input.activity, gate_input.parts)
    refusals = (
        refuse_disks(tables, activity, parts.on(destination.other)) for tables, activity, parts in replicas
    )
    return next(filter(None, refusals), None)
