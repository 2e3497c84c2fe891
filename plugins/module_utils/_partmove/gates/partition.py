# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates that judge one partition, given the facts of its shard path."""

from __future__ import annotations

from ..formats.payload import parse_payload, payload_problem, same_content
from ..shard.facts import RegisteredPart
from ..text import first_few
from .gate import GateCase, PartitionGate
from .names import GateName


def _queue_busy(case: GateCase) -> str | None:
    entries = case.shard.pending.get(case.partition.partition_id)
    if not entries:
        return None
    return f"entries for the partition wait: {first_few(f'{e.kind.value} in {e.where}' for e in entries)}"


def _no_block_numbers(case: GateCase) -> str | None:
    return None if case.partition.exists else "the partition is not among the block numbers of the table"


def _insert_in_flight(case: GateCase) -> str | None:
    locks = case.partition.inserts_in_flight
    return f"an insert holds a block number: {first_few(locks)}" if locks else None


def _quorum_open(case: GateCase) -> str | None:
    paths = case.shard.quorum.get(case.partition.partition_id)
    return f"quorum inserts are open or have failed: {first_few(paths)}" if paths else None


def _part_sets_differ(case: GateCase) -> str | None:
    names = {replica: {p.name.text for p in parts} for replica, parts in case.partition.hot.items()}
    first, *others = names.values()
    if all(each == first for each in others):
        return None
    differing = {
        f"{name} is not on {replica}"
        for replica, here in names.items()
        for name in set.union(*names.values()) - here
    }
    return f"the replicas have different parts: {first_few(sorted(differing))}"


def _too_many_parts(case: GateCase) -> str | None:
    for replica, parts in case.partition.hot.items():
        if len(parts) > case.options.max_parts:
            names = first_few(part.name.text for part in parts)
            return f"replica {replica} has {len(parts)} parts registered: {names}"
    return None


def _payload_unreadable(case: GateCase) -> str | None:
    readable: RegisteredPart | None = None
    for part in case.partition.hot_parts:
        # The replicas of a part mostly have the same payload: parse each payload once.
        if readable is not None and part.registers_as(readable):
            continue
        data, children = part.payload
        problem = payload_problem(data, dict(children))
        if problem is not None:
            return f"{case.partition.place_of(part)} {problem}"
        readable = part
    return None


def _payloads_differ(case: GateCase) -> str | None:
    first: dict[str, RegisteredPart] = {}
    for part in case.partition.hot_parts:
        other = first.setdefault(part.name.text, part)
        if not other.registers_as(part) and not _same_parsed(other, part):
            return f"{other.znode.path} and {part.znode.path} do not register the same data"
    return None


def _same_parsed(one: RegisteredPart, other: RegisteredPart) -> bool:
    parsed = []
    for part in (one, other):
        data, children = part.payload
        parsed.append(parse_payload(data, dict(children), part.znode.path))
    return same_content(parsed[0], parsed[1]) is True


def _mutation_unfinished(case: GateCase) -> str | None:
    for mutation in case.shard.mutations:
        number = mutation.block_numbers.get(case.partition.partition_id)
        if number is None:
            continue
        for part in case.partition.hot_parts:
            if part.name.data_version < number:
                return f"mutation {mutation.id} has not been applied to {part.name.text}"
    return None


def _too_young(case: GateCase) -> str | None:
    newest = max([part.znode.stat.mtime for part in case.partition.hot_parts], default=0) / 1000
    # A part that was registered after the run began, or by a clock that is ahead, has the age 0.
    age = max(0.0, case.now - newest)
    if age >= case.options.min_age:
        return None
    return f"the newest part was registered {age:.0f} s ago, less than {case.options.min_age:.0f} s"


def _stray_copies(case: GateCase) -> str | None:
    strays = [part.znode.path for part in case.partition.only_in_cold]
    return (
        f"the cold ensemble registers parts that hot does not have: {first_few(strays)}" if strays else None
    )


PARTITION_GATES: tuple[PartitionGate, ...] = (
    PartitionGate(
        GateName.QUEUE_CLEAR,
        "A queue entry that works on a part after the part became cold detaches the part.",
        "Wait until the replication queues have no entry for the partition and run again",
        _queue_busy,
    ),
    PartitionGate(
        GateName.BLOCK_NUMBERS_PRESENT,
        "State is a child of the partition's znode in block_numbers, and only ClickHouse may create that"
        " one.",
        "Leave the partition out of the plan",
        _no_block_numbers,
    ),
    PartitionGate(
        GateName.NO_INSERT_IN_FLIGHT,
        "A part that is inserted during the move leaves the partition registered in both ensembles.",
        "Wait until the insert has ended and run again",
        _insert_in_flight,
    ),
    PartitionGate(
        GateName.NO_QUORUM_OPEN,
        "A quorum insert that fails later removes its part from the hot ensemble only.",
        "Let the quorum insert finish, or resolve the failed part, and run again",
        _quorum_open,
    ),
    PartitionGate(
        GateName.EQUAL_PARTS,
        "A replica cannot find a cold part to fetch, so every replica has to have the part before the move.",
        "Wait until the replicas have the same parts (SYSTEM SYNC REPLICA) and run again",
        _part_sets_differ,
    ),
    PartitionGate(
        GateName.ONE_PART,
        "A server that tries to merge two cold parts detaches both.",
        "Merge the partition with partition_merge (or OPTIMIZE TABLE … PARTITION … FINAL), wait until"
        " ClickHouse has removed the old parts, and run again",
        _too_many_parts,
    ),
    PartitionGate(
        GateName.PAYLOAD_READABLE,
        "A damaged part znode would be copied as it is.",
        "Run CHECK TABLE while the partition is hot, so that ClickHouse repairs the part, and run again",
        _payload_unreadable,
    ),
    PartitionGate(
        GateName.EQUAL_PAYLOADS,
        "Replicas that disagree about a part have to fetch the part, and no replica can fetch a cold part.",
        "Run CHECK TABLE while the partition is hot, so that ClickHouse repairs the part, and run again",
        _payloads_differ,
    ),
    PartitionGate(
        GateName.MUTATIONS_APPLIED,
        "A mutation that reaches a cold part detaches the part.",
        "Wait until system.mutations shows is_done for the mutation, or KILL MUTATION, and run again",
        _mutation_unfinished,
    ),
    PartitionGate(
        GateName.OLD_ENOUGH,
        "A move cannot keep inserts out, so only partitions that get no inserts any more should move.",
        "Run again later, or lower min_age",
        _too_young,
    ),
    PartitionGate(
        GateName.NO_STRAY_COPIES,
        "At the next start, a server expects a part that is registered only in cold on its disk.",
        "Run part_move with state: hot and the option clickhouse: it removes the cold part znodes of parts"
        " that no server has any more",
        _stray_copies,
    ),
)
