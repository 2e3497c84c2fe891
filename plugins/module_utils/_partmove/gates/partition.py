# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gates that look at one partition; the facts of its shard path are at hand."""

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
    sound: RegisteredPart | None = None
    for part in case.partition.hot_parts:
        # The replicas of a part mostly have the same payload, which is looked at once.
        if sound is not None and part.registers_as(sound):
            continue
        data, children = part.payload
        problem = payload_problem(data, dict(children))
        if problem is not None:
            return f"{case.partition.place_of(part)} {problem}"
        sound = part
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
    # A part that was registered after the run began, or by a clock that is ahead, has no age at all.
    age = max(0.0, case.now - newest)
    if age >= case.options.min_age:
        return None
    return f"its newest part was registered {age:.0f} s ago, less than {case.options.min_age:.0f} s"


def _stray_copies(case: GateCase) -> str | None:
    strays = [part.znode.path for part in case.partition.only_in_cold]
    return f"the cold ensemble has parts that hot does not have: {first_few(strays)}" if strays else None


PARTITION_GATES: tuple[PartitionGate, ...] = (
    PartitionGate(
        GateName.QUEUE_CLEAR,
        "An entry that works on a part which is cold by then detaches it.",
        "Wait until the replication queues have no entry for the partition and run again",
        _queue_busy,
    ),
    PartitionGate(
        GateName.BLOCK_NUMBERS_PRESENT,
        "State is a child of the znode that counts the partition's blocks, which only ClickHouse may create.",
        "Leave the partition out of the plan",
        _no_block_numbers,
    ),
    PartitionGate(
        GateName.NO_INSERT_IN_FLIGHT,
        "A part inserted during the move makes the partition one of both ensembles.",
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
        "A part that a replica still has to fetch cannot be found by it once it is cold.",
        "Wait until the replicas have the same parts (SYSTEM SYNC REPLICA) and run again",
        _part_sets_differ,
    ),
    PartitionGate(
        GateName.ONE_PART,
        "Two cold parts that can be merged are detached as soon as a server tries to.",
        "OPTIMIZE TABLE … PARTITION … FINAL, wait until the old parts are cleaned up, and run again",
        _too_many_parts,
    ),
    PartitionGate(
        GateName.PAYLOAD_READABLE,
        "A part whose registration is damaged would be copied damaged.",
        "CHECK TABLE while the partition is hot, so that ClickHouse repairs the part, and run again",
        _payload_unreadable,
    ),
    PartitionGate(
        GateName.EQUAL_PAYLOADS,
        "Replicas that disagree about a part have to fetch it, which they cannot once it is cold.",
        "CHECK TABLE while the partition is hot, so that ClickHouse repairs the part, and run again",
        _payloads_differ,
    ),
    PartitionGate(
        GateName.MUTATIONS_APPLIED,
        "A mutation that reaches a cold part detaches it.",
        "Wait until system.mutations says is_done for the mutation, or KILL MUTATION, and run again",
        _mutation_unfinished,
    ),
    PartitionGate(
        GateName.OLD_ENOUGH,
        "Inserts cannot be kept out of a partition, so it should be one that gets none any more.",
        "Run again later, or lower min_age",
        _too_young,
    ),
    PartitionGate(
        GateName.NO_STRAY_COPIES,
        "A part that is registered in cold only would be expected on disk at the next start.",
        "part_move with the state hot and clickhouse removes what no server has any more",
        _stray_copies,
    ),
)
