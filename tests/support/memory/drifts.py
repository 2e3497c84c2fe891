# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ways on which a table in memory drifts, and what a repair makes of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.memory.arrange import create, create_cold, delete, mark_former, write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC

STATE = f"block_numbers/{DAY}/State"
R1, R2 = (f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))


class Drift(NamedTuple):
    """A way to a kind.

    after: what the partition is for each replica, once it was repaired.
    """

    arrange: Callable[[Bench], object]
    kind: FindingKind
    after: FindingKind

    def made(self) -> Drifted:
        """A table that drifted so."""
        drifted = Drifted()
        data = drifted.bench.hot.get(f"{PATH}/{R1}")[0]
        checksums = parse_payload(data, {}, R1).checksums
        assert checksums is not None
        drifted.disks.hashes[PART] = checksums.hash_of_all_files
        self.arrange(drifted.bench)
        return drifted


def _half_deleted(bench: Bench) -> None:
    bench.move()
    create(R1, bench.cold.get(f"{PATH}/{R1}")[0])(bench)


def _half_deleted_and_marked_hot(bench: Bench) -> None:
    _half_deleted(bench)
    write(STATE, b"HOT")(bench)


def _copied_by_another(bench: Bench) -> None:
    for path in (R1, R2):
        create_cold(path, bench.hot.get(f"{PATH}/{path}")[0])(bench)
    bench.clock.sleep(7200)


def _moved_by_another(bench: Bench) -> None:
    _copied_by_another(bench)
    create(STATE, b"COLD")(bench)
    for path in (R1, R2):
        delete(path)(bench)
    bench.clock.sleep(7200)


def _former_table(bench: Bench) -> None:
    _copied_by_another(bench)
    mark_former(bench)


def _copies_differ(bench: Bench) -> None:
    bench.move(OTHER)
    for path in (R1, R2):
        create_cold(path, MINIMALISTIC[:-1] + b"\x23")(bench)


def _ghost(bench: Bench) -> None:
    bench.move()
    for names in bench.servers.disk.values():
        names.discard(PART)


def _dropped(bench: Bench) -> None:
    _ghost(bench)
    write(STATE, b"HOT")(bench)


def _cold_unmarked(bench: Bench) -> None:
    bench.move()
    write(STATE, b"HOT")(bench)


def _marked_without_reason(bench: Bench) -> None:
    create(STATE, b"COLD")(bench)


def _emptied_while_cold(bench: Bench) -> None:
    bench.move()
    bench.servers.drop(DAY)


def _copies_left(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    bench.clock.sleep(600)


DRIFTS: dict[str, Drift] = {
    "half deleted": Drift(_half_deleted, FindingKind.HALF_COLD, FindingKind.COPIES_NEEDED),
    "half deleted, marked hot": Drift(
        _half_deleted_and_marked_hot, FindingKind.HALF_COLD, FindingKind.COPIES_NEEDED
    ),
    "copied by another": Drift(_copied_by_another, FindingKind.FOREIGN, FindingKind.COPIES_LEFT),
    "moved by another": Drift(_moved_by_another, FindingKind.FOREIGN, FindingKind.COLD),
    "of a former table": Drift(_former_table, FindingKind.FORMER_TABLE, FindingKind.HOT),
    "copies differ": Drift(_copies_differ, FindingKind.COPIES_DIFFER, FindingKind.COPIES_LEFT),
    "ghost": Drift(_ghost, FindingKind.GHOST, FindingKind.EMPTY),
    "dropped": Drift(_dropped, FindingKind.DROPPED, FindingKind.EMPTY),
    "cold, not marked": Drift(_cold_unmarked, FindingKind.COLD_UNMARKED, FindingKind.COLD),
    "hot, marked cold": Drift(_marked_without_reason, FindingKind.HOT_MARKED_COLD, FindingKind.HOT),
    "emptied while cold": Drift(_emptied_while_cold, FindingKind.EMPTY_MARKED_COLD, FindingKind.EMPTY),
    "copies left": Drift(_copies_left, FindingKind.COPIES_LEFT, FindingKind.HOT),
}
"""By what happened."""
