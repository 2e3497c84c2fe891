# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What readers of a reading table see before every step of runs with many acts, kills and refused statements.

RUNS says how many; each of them can be done again by its number.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTables
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    ReadersOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.recorded_readers import (
    OpenRecordedReaders,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.servers import Reading
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    NOTHING_HIDDEN,
    LeftPolicy,
    PolicyStatement,
    policy_name,
)
from support.memory.interleaving import Script
from support.memory.readers import READING, MemoryReaderServers, tables_of
from support.memory.twin_schedules import ACTS, MERGES, TwinSchedule, explore_all
from support.memory.twins import REPLICAS

RUNS = int(os.environ.get("RUNS") or "300")
INSERTS = ("insert", "same", "second")
WITHOUT_MERGES = tuple(act for act in ACTS if act not in MERGES)
WITHOUT_INSERTS = tuple(act for act in ACTS if act not in INSERTS)
_BLOCK = re.compile(r"toInt64\(splitByChar\('_', _part\)\[(\d)\]\)")
_HIDDEN_PARTITION = re.compile(r"_partition_id = '(\w+)'")
_WORDS = {" AND ": " and ", " OR ": " or ", "NOT ": "not "}


def shows(condition: str, table: str, partition_id: str, part: str) -> bool:
    """Whether a row of the part is true for the condition of a row policy."""
    words = part.split("_")
    text = _BLOCK.sub(lambda match: words[int(match[1]) - 1], condition)
    for name, value in (("_table", table), ("_partition_id", partition_id)):
        text = text.replace(f"{name} = ", f"{value!r} == ")
    for sql, python in _WORDS.items():
        text = text.replace(sql, python)
    return bool(eval(text, {}))


class SteppingServers(MemoryReaderServers):
    """Servers that keep policies from one run to the next, and execute each as a step of the run."""

    def of(self, schedule: TwinSchedule) -> SteppingServers:
        """Be those of a schedule."""
        self.schedule = schedule
        return self

    def reading(self, tables: TwinTables) -> Reading:
        """The reading table, and the policy that a killed run left."""
        found = super().reading(tables)
        left = (LeftPolicy(policy_name(tables), READING),) if tables.replica.name in self.policies else ()
        return found._replace(policies=left)

    def execute(self, statement: PolicyStatement) -> None:
        """Execute it as a step."""
        self.schedule.bench.servers.script.step(f"servers {type(statement).__name__}")
        super().execute(statement)


class Watched(TwinSchedule):
    """A schedule in which readers look before each step."""

    def __init__(self, random: Random) -> None:
        acts = random.choice((ACTS, WITHOUT_MERGES, WITHOUT_INSERTS))
        super().__init__(random, acts, lambda: _Looking(self))
        self.first = Counter(self.twins.inserted)
        self.servers = SteppingServers().of(self)
        self.bench.readers = OpenRecordedReaders(self.servers, ReadersOptions())

    def look(self) -> None:
        """Every row is there, and once, and nothing is hidden of a partition without a record.

        A row that is inserted while its partition is brought back is hidden until the clones are compared. A
        merge of hidden parts with others shows rows twice.
        """
        comes_back = any(each.endswith("to hot") for each in self.events)
        least = _plain(self.first if comes_back else self.twins.inserted)
        most = _plain(self.twins.inserted)
        for replica in REPLICAS:
            seen = _plain(self.seen(replica))
            condition = self.servers.policies.get(replica, NOTHING_HIDDEN)
            assert set(_HIDDEN_PARTITION.findall(condition)) <= self.between, condition
            assert not least - seen, f"{replica} misses {least - seen}: {condition}"
            joined = self.joined(replica)
            assert not seen - most - joined, f"{replica} has {seen - most} too often: {condition}"

    def seen(self, replica: str) -> Counter[str]:
        """How often readers of a replica see each row."""
        found: Counter[str] = Counter()
        for _table, _part, rows in self._shown(replica):
            found.update(rows)
        return found

    def joined(self, replica: str) -> Counter[str]:
        """The rows of parts that readers see although a part of only some of their blocks would be hidden."""
        condition = self.servers.policies.get(replica, NOTHING_HIDDEN)
        found: Counter[str] = Counter()
        for table, part, rows in self._shown(replica):
            partition_id, first, last = part.split("_")[:3]
            blocks = range(int(first), int(last) + 1)
            alone = (shows(condition, table, partition_id, f"{partition_id}_{at}_{at}_0") for at in blocks)
            if not all(alone):
                found.update(_plain(Counter(rows)))
        return found

    def _shown(self, replica: str) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Table, name and rows of each part that readers of a replica see."""
        tables = tables_of(replica)
        condition = self.servers.policies.get(replica, NOTHING_HIDDEN)
        for partition_id in self.twins.partition_ids:
            for side, table in self.twins.of(partition_id).items():
                for key, rows in table.parts.items():
                    part = table.name_of(key)
                    if shows(condition, tables.on(side).name, partition_id, part):
                        yield tables.on(side).name, part, rows


class _Looking(Script):
    def __init__(self, schedule: Watched) -> None:
        super().__init__()
        self._schedule = schedule

    def step(self, operation: str) -> int:
        number = super().step(operation)
        self._schedule.look()
        return number


def _plain(rows: Counter[str]) -> Counter[str]:
    """The rows without what mutations appended."""
    found: Counter[str] = Counter()
    for row, count in rows.items():
        found[row.rstrip("+")] += count
    return found


@pytest.mark.parametrize("part", range(4))
def test_readers_miss_no_row_and_see_none_twice(part: int) -> None:
    explore_all(range(part, RUNS, 4), Watched)


def test_conditions_are_read_as_servers_do() -> None:
    condition = (
        "NOT ((_table = 'hits' AND _partition_id = '1' AND toInt64(splitByChar('_', _part)[3]) <= 4) OR"
        " (_table = 'hits_cold' AND _partition_id = '1' AND (toInt64(splitByChar('_', _part)[2]) >= 5 OR"
        " toInt64(splitByChar('_', _part)[3]) <= 1)))"
    )
    seen = {
        (table, part): shows(condition, table, "1", part)
        for table in ("hits", "hits_cold")
        for part in ("1_1_1_0", "1_3_5_1", "1_5_5_0")
    }
    assert [each for each, is_shown in seen.items() if is_shown] == [
        ("hits", "1_3_5_1"),
        ("hits", "1_5_5_0"),
        ("hits_cold", "1_3_5_1"),
    ]
    assert shows(NOTHING_HIDDEN, "hits", "1", "1_1_1_0")
