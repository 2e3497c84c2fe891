# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the gates at the whole table."""

from __future__ import annotations

from mutants.mutant import Mutant

_SHARD = "gates/shard.py"

MUTANTS = (
    Mutant(
        "gate: a layout that is not known passes",
        _SHARD,
        "def _unknown_layout(shard: ShardFacts) -> str | None:\n",
        "def _unknown_layout(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_gate_that_trips[known_layout0]",),
    ),
    Mutant(
        "gate: a table that is being dropped passes",
        _SHARD,
        "def _being_dropped(shard: ShardFacts) -> str | None:\n",
        "def _being_dropped(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_gate_that_trips[table_kept]",),
    ),
    Mutant(
        "gate: a table without replicas passes",
        _SHARD,
        "def _no_replica(shard: ShardFacts) -> str | None:\n",
        "def _no_replica(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_table_without_replicas",),
    ),
    Mutant(
        "gate: replicas that are not healthy pass",
        _SHARD,
        "def _replicas_unhealthy(shard: ShardFacts) -> str | None:\n",
        "def _replicas_unhealthy(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_gate_that_trips[replicas_healthy1]",),
    ),
    Mutant(
        "gate: a TTL passes",
        _SHARD,
        "def _ttl(shard: ShardFacts) -> str | None:\n",
        "def _ttl(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_gate_that_trips[no_ttl0]",),
    ),
    Mutant(
        "gate: an ALTER that waits passes",
        _SHARD,
        "def _alter_pending(shard: ShardFacts) -> str | None:\n",
        "def _alter_pending(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_gate_that_trips[no_alter_pending1]",),
    ),
    Mutant(
        "gate: parts of a former table pass",
        _SHARD,
        "def _another_table(shard: ShardFacts) -> str | None:\n",
        "def _another_table(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_gate_that_trips[same_table0]",),
    ),
    Mutant(
        "gate: shared storage passes",
        _SHARD,
        "def _shared_storage(shard: ShardFacts) -> str | None:\n",
        "def _shared_storage(shard: ShardFacts) -> str | None:\n    return None\n",
        ("gates/test_shard.py::test_a_gate_that_trips[no_shared_storage0]",),
    ),
    Mutant(
        "a replica that is not active is healthy",
        _SHARD,
        "if replica.host is None or replica.is_active is None:",
        "if replica.host is None:",
        ("gates/test_shard.py::test_a_gate_that_trips[replicas_healthy0]",),
    ),
    Mutant(
        "a replica without the znode is_lost is healthy",
        _SHARD,
        '        return f"replica {replica.name} has no znode is_lost"',
        "        return None",
        ("gates/test_judge_alone.py",),
    ),
    Mutant(
        "a replica that is lost is healthy",
        _SHARD,
        'if replica.is_lost.data != b"0":',
        "if not replica.is_lost.data:",
        ("gates/test_shard.py::test_a_gate_that_trips[replicas_healthy2]",),
    ),
    Mutant(
        "one replica that is healthy stands for all",
        _SHARD,
        "map(_unhealthy, shard.replicas)",
        "map(_unhealthy, shard.replicas[:1])",
        ("gates/test_shard.py::test_a_gate_that_trips[replicas_healthy1]",),
    ),
    Mutant(
        "the TTL of a column is none",
        _SHARD,
        "if columns_have_ttl(shard.columns, shard.layout.columns):",
        "if not shard.columns:",
        ("gates/test_shard.py::test_a_gate_that_trips[no_ttl1]",),
    ),
    Mutant(
        "entries that concern the whole table do not wait",
        _SHARD,
        "if shard.pending_table_wide:",
        "if shard.pending_table_wide and not shard.replicas:",
        ("gates/test_shard.py::test_a_gate_that_trips[no_alter_pending0]",),
    ),
    Mutant(
        "a replica with other columns is not behind",
        _SHARD,
        "if replica.columns != shard.columns or replica",
        "if replica",
        ("gates/test_shard.py::test_a_gate_that_trips[no_alter_pending1]",),
    ),
    Mutant(
        "a replica with other metadata is not behind",
        _SHARD,
        "if replica.columns != shard.columns or replica.metadata not in (None, shard.metadata.raw)",
        "if replica.columns != shard.columns",
        ("gates/test_shard.py::test_a_gate_that_trips[no_alter_pending2]",),
    ),
    Mutant(
        "parts of a former table are those of the table",
        _SHARD,
        'Owner.FORMER: "the cold ensemble registers parts of a former table at the same path"',
        "Owner.FORMER: None",
        ("gates/test_shard.py::test_a_gate_that_trips[same_table1]",),
    ),
    Mutant(
        "parts in cold without a marker are those of the table",
        _SHARD,
        'Owner.NOBODY: "the cold ensemble registers parts that another tool put there"',
        "Owner.NOBODY: None",
        ("gates/test_shard.py::test_a_gate_that_trips[same_table0]",),
    ),
)
