# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the gates at one partition, and of the order in which gates judge."""

from __future__ import annotations

from mutants.mutant import Mutant

_PARTITION = "gates/partition.py"
_JUDGE = "gates/judge.py"

MUTANTS = (
    Mutant(
        "gate: entries that wait pass",
        _PARTITION,
        "def _queue_busy(case: GateCase) -> str | None:\n",
        "def _queue_busy(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_partition_ids_are_compared_as_a_whole",),
    ),
    Mutant(
        "gate: a partition without block numbers passes",
        _PARTITION,
        "def _no_block_numbers(case: GateCase) -> str | None:\n",
        "def _no_block_numbers(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[block_numbers_present]",),
    ),
    Mutant(
        "gate: an insert in flight passes",
        _PARTITION,
        "def _insert_in_flight(case: GateCase) -> str | None:\n",
        "def _insert_in_flight(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[no_insert_in_flight0]",),
    ),
    Mutant(
        "gate: an open quorum passes",
        _PARTITION,
        "def _quorum_open(case: GateCase) -> str | None:\n",
        "def _quorum_open(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[no_quorum_open0]",),
    ),
    Mutant(
        "gate: other parts on each replica pass",
        _PARTITION,
        "def _part_sets_differ(case: GateCase) -> str | None:\n",
        "def _part_sets_differ(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[equal_parts]",),
    ),
    Mutant(
        "gate: many parts pass",
        _PARTITION,
        "def _too_many_parts(case: GateCase) -> str | None:\n",
        "def _too_many_parts(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[one_part]",),
    ),
    Mutant(
        "gate: a payload that is not understood passes",
        _PARTITION,
        "def _payload_unreadable(case: GateCase) -> str | None:\n",
        "def _payload_unreadable(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[payload_readable0]",),
    ),
    Mutant(
        "gate: the payload of the first replica stands for all",
        _PARTITION,
        "if readable is not None and part.registers_as(readable):",
        "if readable is not None:",
        ("gates/test_partition.py::test_a_gate_that_trips[payload_readable0]",),
    ),
    Mutant(
        "gate: other payloads on each replica pass",
        _PARTITION,
        "def _payloads_differ(case: GateCase) -> str | None:\n",
        "def _payloads_differ(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[equal_payloads0]",),
    ),
    Mutant(
        "gate: a mutation that is not done passes",
        _PARTITION,
        "def _mutation_unfinished(case: GateCase) -> str | None:\n",
        "def _mutation_unfinished(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[mutations_applied]",),
    ),
    Mutant(
        "gate: a young partition passes",
        _PARTITION,
        "def _too_young(case: GateCase) -> str | None:\n",
        "def _too_young(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[old_enough]",),
    ),
    Mutant(
        "gate: stray copies pass",
        _PARTITION,
        "def _stray_copies(case: GateCase) -> str | None:\n",
        "def _stray_copies(case: GateCase) -> str | None:\n    return None\n",
        ("gates/test_partition.py::test_a_gate_that_trips[no_stray_copies]",),
    ),
    Mutant(
        "replicas have as many parts, which are not the same",
        _PARTITION,
        "names = {replica: {p.name.text for p in parts} for replica, parts in case.partition.hot.items()}",
        "names = {replica: set(map(str, range(len(parts)))) for replica, parts in "
        "case.partition.hot.items()}",
        ("gates/test_partition_uneven.py",),
    ),
    Mutant(
        "one part more than allowed is let pass",
        _PARTITION,
        "if len(parts) > case.options.max_parts:",
        "if len(parts) > case.options.max_parts + 1:",
        ("gates/test_partition.py::test_a_gate_that_trips[one_part]",),
    ),
    Mutant(
        "payloads that cannot be compared are equal",
        _PARTITION,
        "return same_content(parsed[0], parsed[1]) is True",
        "return same_content(parsed[0], parsed[1]) is not False",
        ("gates/test_partition.py::test_a_gate_that_trips[equal_payloads1]",),
    ),
    Mutant(
        "the age is that of the oldest part",
        _PARTITION,
        "newest = max([part",
        "newest = min([part",
        ("gates/test_partition_age.py::test_one_part_that_is_young_is_enough",),
    ),
    Mutant(
        "a part from the future is old",
        _PARTITION,
        "age = max(0.0, case.now - newest)",
        "age = abs(case.now - newest)",
        ("gates/test_partition_age.py::test_a_part_from_the_future_has_no_age",),
    ),
    Mutant(
        "a part that a mutation has yet to reach has it",
        _PARTITION,
        "if part.name.data_version < number:",
        "if part.name.data_version < number - 1:",
        ("gates/test_partition.py::test_a_gate_that_trips[mutations_applied]",),
    ),
    Mutant(
        "queue entries that wait do not stop bringing back",
        _JUDGE,
        "_PARTITION_GATES_FOR_REHEAT = (\n    GateName.QUEUE_CLEAR,\n",
        "_PARTITION_GATES_FOR_REHEAT = (\n",
        ("gates/test_judge.py::test_every_direction_has_gates_of_its_own[queue_clear-gates3-queue_clear]",),
    ),
    Mutant(
        "a payload that is not understood comes back",
        _JUDGE,
        "    GateName.BLOCK_NUMBERS_PRESENT,\n    GateName.PAYLOAD_READABLE,\n",
        "    GateName.BLOCK_NUMBERS_PRESENT,\n",
        ("patched/move/test_to_hot_refusals.py::test_gates_for_bringing_back",),
    ),
    Mutant(
        "a partition without block numbers comes back",
        _JUDGE,
        "    GateName.BLOCK_NUMBERS_PRESENT,\n    GateName.PAYLOAD_READABLE,\n",
        "    GateName.PAYLOAD_READABLE,\n",
        ("patched/move/test_to_hot_refusals.py::test_gates_for_bringing_back",),
    ),
    Mutant(
        "unhealthy replicas do not stop bringing back",
        _JUDGE,
        "_SHARD_GATES_NOT_FOR_REHEAT = (GateName.NO_TTL,)",
        "_SHARD_GATES_NOT_FOR_REHEAT = (GateName.NO_TTL, GateName.REPLICAS_HEALTHY)",
        (
            (
                "gates/test_judge.py::test_every_direction_has_gates_of_its_own[replicas_healthy-gate"
                "s2-replicas_healthy]"
            ),
        ),
    ),
    Mutant(
        "an ALTER that waits does not stop bringing back",
        _JUDGE,
        "_SHARD_GATES_NOT_FOR_REHEAT = (GateName.NO_TTL,)",
        "_SHARD_GATES_NOT_FOR_REHEAT = (GateName.NO_TTL, GateName.NO_ALTER_PENDING)",
        ("patched/move/test_to_hot_refusals.py::test_gates_for_bringing_back",),
    ),
    Mutant(
        "a former table does not stop bringing back",
        _JUDGE,
        "_SHARD_GATES_NOT_FOR_REHEAT = (GateName.NO_TTL,)",
        "_SHARD_GATES_NOT_FOR_REHEAT = (GateName.NO_TTL, GateName.SAME_TABLE)",
        ("patched/move/test_to_hot_refusals.py::test_gates_for_bringing_back",),
    ),
    Mutant(
        "what stops the shard path does not stop its partitions",
        _JUDGE,
        "    if stopped is not None:\n",
        "    if stopped is not None and not partitions:\n",
        ("gates/test_judge.py::test_the_first_closed_gate_is_reported[names1-no_ttl]",),
    ),
    Mutant(
        "the first gate is the only one",
        _JUDGE,
        "            if reason is not None:\n"
        "                refused[partition.partition_id] = gate.refused_for(reason)\n"
        "                break\n",
        "            if reason is not None:\n"
        "                refused[partition.partition_id] = gate.refused_for(reason)\n"
        "            break\n",
        ("gates/test_judge.py::test_the_first_closed_gate_is_reported[names4-one_part]",),
    ),
    Mutant(
        "gate: as many parts on each replica are the same parts",
        _PARTITION,
        "if all(each == first for each in others):",
        "if all(len(each) == len(first) for each in others):",
        ("gates/test_partition_uneven.py",),
    ),
    Mutant(
        "gate: one replica with the parts of the first stands for all",
        _PARTITION,
        "if all(each == first for each in others):",
        "if any(each == first for each in others):",
        ("gates/test_partition_uneven.py",),
    ),
)
