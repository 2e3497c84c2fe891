# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the evidence of a partition says of the content of its parts."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    ReplicaEvidence,
)
from support.memory.arrange import create_cold, legacy_part
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC


def of_r1(drifted: Drifted) -> ReplicaEvidence:
    evidence = drifted.evidence().read(PATH, content_of=[DAY])
    return evidence.partitions[DAY].replicas[0]


def mtime(bench: Bench, name: str) -> int:
    mtime: int = bench.cold.get(bench.part("r1", name))[1].mtime
    return mtime


def test_the_newest_write_to_a_part_in_cold_is_known() -> None:
    drifted, later = Drifted(), f"{DAY}_9_9_0"
    assert of_r1(drifted).cold_mtime == 0
    drifted.bench.clock.sleep(60)
    drifted.bench.move(DAY)
    first = of_r1(drifted).cold_mtime
    assert first == mtime(drifted.bench, PART) > 0

    drifted.bench.clock.sleep(60)
    create_cold(f"replicas/r1/parts/{later}", MINIMALISTIC)(drifted.bench)

    assert of_r1(drifted).cold_mtime == mtime(drifted.bench, later) > first


def test_a_part_that_registers_a_list_of_files_is_not_unlike_its_disk() -> None:
    """Such a list has no hash of all files to compare."""
    drifted = Drifted()
    drifted.disks.hashes[PART] = "0" * 32
    assert of_r1(drifted).unlike_disk == {PART}

    legacy_part("r1", b"checksums format version: 4\nall files")(drifted.bench)

    assert of_r1(drifted).unlike_disk == frozenset()
