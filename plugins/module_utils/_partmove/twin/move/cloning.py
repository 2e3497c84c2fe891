# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records partitions, clones them by ATTACH, and compares the clones on every replica."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ...errors import EnsembleError, LeaseLost, NotPermitted, PartMoveError, StatementEnded
from ...gates.gate import Refusal
from ...journal.events import Event
from .changes import newest, refuse_unlike
from .clones import checksum_problem, clones_of, parts_holding_clones
from .gates import GateInput, refuse_activity, refuse_start, server_failed
from .group import Group
from .merges import stop_merges
from .progress import Current, Progress
from .record import MOST_BYTES, TwinRecord, contents
from .refusals import Refused, keeps_changing, too_large
from .tables import Side
from .undoing import remove_records, undo

RETRIES = 3
"""How often a partition that changed meanwhile is recorded and attached again."""


def begin(group: Group, currents: Sequence[Current]) -> None:
    """Record the partitions that the gates let pass, and attach them."""
    records: list[tuple[Progress, TwinRecord]] = []
    for each in currents:
        refusal = _refuse(group, each)
        record = None if refusal is not None else _record_of(group, each)
        if record is not None and len(record.encode()) > MOST_BYTES:
            refusal = too_large(record)
        if refusal is not None:
            group.leave([each.progress], refusal)
        elif record is not None:
            each.progress.retries += 1
            records.append((each.progress, record))
    group.commit(records)
    members = [each for each, _record in records]
    if members and group.shard.options.stop_merges:
        members = _stop_merges(group, members, currents)
    # The read after the ATTACH finds what changed since the parts were read.
    attach(group, members)


def _refuse(group: Group, current: Current) -> Refusal | None:
    progress, shard = current.progress, group.shard
    gate_input = _gate_input(group, current)
    refusal = (
        refuse_unlike(shard.tables, group.marks)
        or _refuse_unwhole(group, current)
        or refuse_start(gate_input, progress.destination, shard.options.min_age)
    )
    if refusal is None and progress.retries >= RETRIES:
        refusal = keeps_changing(progress.problem)
    return refusal


def _refuse_unwhole(group: Group, current: Current) -> Refusal | None:
    """Refuse a partition while the twin lacks what its ledger lists."""
    try:
        return group.shard.ledger.refusal(current.progress.id, current.parts)
    except (EnsembleError, LeaseLost):
        raise
    except PartMoveError as error:
        return server_failed(error)


def _gate_input(group: Group, current: Current) -> GateInput:
    return GateInput(current.progress.id, group.shard.tables, current.all_parts, group.activity)


def _record_of(group: Group, current: Current) -> TwinRecord:
    tables, destination = group.shard.tables[0], current.progress.destination
    return TwinRecord(
        destination,
        tables.hot.place,
        tables.cold.place,
        parts=contents(current.parts.on(destination.other)),
        held=contents(current.parts.on(destination)),
        clones={},
        dropping=(),
        began=int(group.shard.clock.now() * 1000),
        merges_stopped=group.shard.options.stop_merges,
        marks=newest(group.marks),
    )


def _stop_merges(group: Group, members: list[Progress], currents: Sequence[Current]) -> list[Progress]:
    """Stop merges, and return the partitions without a merge that was assigned before.

    A server does not drop the parts of an assigned merge. The other partitions lose their records.
    """
    try:
        stop_merges(group, members)
        group.read_activity(members)
    except Refused as refused:
        group.leave_refused(members, refused)
        return []
    inputs = {each.progress.id: _gate_input(group, each) for each in currents}
    for each in members:
        each.leaves_as = refuse_activity(inputs[each.id])
    remove_records(group, [each for each in members if each.leaves_as is not None])
    return [each for each in members if not each.is_done]


def attach(group: Group, members: Sequence[Progress]) -> None:
    """Clone the recorded partitions, those in one statement that no server has refused together."""
    members = _with_source_checksums(group, members)
    if not members or not _hide(group, members):
        return
    group.record_events(
        Event.ATTACHING,
        {
            each.id: {"state": each.record.destination.value.upper(), "parts": sorted(each.record.parts)}
            for each in members
        },
    )
    for destination, found in groupby(
        sorted(members, key=lambda each: each.record.destination), lambda each: each.record.destination
    ):
        of_side = list(found)
        together = [each for each in of_side if not each.alone]
        for chunk in (together, *([each] for each in of_side if each.alone)):
            if chunk:
                _attach_chunk(group, chunk, destination)


def _hide(group: Group, members: Sequence[Progress]) -> bool:
    """Hide from readers what the ATTACH adds; without that, the records of these partitions are removed."""
    refusal = group.hide_clones()
    if refusal is None:
        return True
    for each in members:
        each.leaves_as = refusal
    remove_records(group, members)
    return False


def _attach_chunk(group: Group, members: Sequence[Progress], destination: Side) -> None:
    began = group.shard.clock.now()
    try:
        problem = group.attach(members, destination)
    except NotPermitted as error:
        for each in members:
            each.leaves_as, each.refused_attach = server_failed(error), True
        return
    except StatementEnded as error:
        _leave_ended(group, members, destination, error)
        return
    except PartMoveError as error:
        group.leave_on_error(members, error)
        return
    for each in members:
        each.problem = problem
        if not problem:
            each.attached, each.attached_at = True, began
        elif len(members) == 1:
            each.refused_attach = True
        else:
            each.alone = True


def _leave_ended(group: Group, members: Sequence[Progress], destination: Side, error: StatementEnded) -> None:
    """Let partitions go on without their records if the ATTACH certainly cloned nothing of them.

    The next statement names each of several partitions alone. Otherwise the record of a partition that
    servers always refuse would stay for good, and keep every other statement from the two tables. A partition
    that may have clones leaves with its record.
    """
    try:
        proven = group.without_clones(members, destination)
    except (EnsembleError, LeaseLost):
        raise
    except PartMoveError:
        proven = frozenset()
    group.leave_on_error([each for each in members if each.id not in proven], error)
    for each in members:
        if each.id in proven:
            each.problem, each.alone = error.message, True
            if len(members) == 1:
                each.leaves_as, each.refused_attach = server_failed(error), True


def attach_recorded(group: Group, currents: Sequence[Current]) -> None:
    """Attach recorded partitions of which the destination has no clone; undo those attached in vain."""
    in_vain = [each for each in currents if each.progress.attached or each.progress.refused_attach]
    for each in in_vain:
        clones = clones_of(each.record, each.parts, each.progress.id)
        each.progress.problem = each.progress.problem or (clones if isinstance(clones, str) else "")
    undo(group, in_vain)
    attach(group, [each.progress for each in currents if each not in in_vain])


def adopt(group: Group, currents: Sequence[Current]) -> list[Current]:
    """Compare the new parts with the record, and record the clones; undo what is not as recorded.

    Returns the partitions with verified clones, whose recorded parts may be dropped.
    """
    verified: list[tuple[Current, TwinRecord]] = []
    faulty: list[Current] = []
    for each in currents:
        clones = _verified_clones(group, each)
        if each.progress.is_done:
            continue
        if isinstance(clones, str):
            each.progress.problem = each.progress.problem or clones
            faulty.append(each)
        else:
            verified.append((each, each.record._replace(clones=clones)))
    undo(group, faulty)
    group.commit([(each.progress, record) for each, record in verified])
    return [each for each, _record in verified]


def _verified_clones(group: Group, current: Current) -> dict[str, str] | str:
    """Map recorded parts to clones, or return the problem. The partition may leave meanwhile."""
    progress, record, parts = current.progress, current.record, current.parts
    if progress.leaves_as is not None or progress.refused_attach:
        return progress.problem or "the ATTACH was refused"
    clones = clones_of(record, parts, progress.id)
    if isinstance(clones, str) or not group.shard.options.checksums:
        return clones if isinstance(clones, str) else dict(clones)
    try:
        of_source = progress.source_checksums or group.checksums(
            record.destination.other, sorted(record.parts)
        )
        holding = parts_holding_clones(record, parts, clones, progress.id)
        problem = checksum_problem([*of_source, *group.checksums(record.destination, holding)])
    except NotPermitted as error:
        progress.leaves_as = server_failed(error)
        return progress.leaves_as.reason
    except PartMoveError as error:
        group.leave_on_error([progress], error)
        return error.message
    return problem or dict(clones)


def _with_source_checksums(group: Group, members: Sequence[Progress]) -> list[Progress]:
    """Read the rows of the source, if the option asks for it; return the partitions to attach.

    Before the ATTACH: reading all rows may take long, and rows should be in both tables only briefly.
    """
    if not group.shard.options.checksums:
        return list(members)
    hidden: list[Progress] = []
    for each in members:
        try:
            each.source_checksums = group.checksums(each.record.destination.other, sorted(each.record.parts))
        except NotPermitted as error:
            each.leaves_as = server_failed(error)
            hidden.append(each)
        except PartMoveError as error:
            group.leave_on_error([each], error)
    remove_records(group, hidden)
    return [each for each in members if not each.is_done]
