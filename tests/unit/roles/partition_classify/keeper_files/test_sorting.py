# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries that do not fit into memory are sorted in runs."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from partition_classify.keeper_files.sorting import sorted_entries


@pytest.mark.parametrize("run_bytes", [1, 500, 20_000, 1 << 30])
@pytest.mark.parametrize("number", [0, 1, 2, 3000])
def test_runs_of_any_size_give_one_order(run_bytes: int, number: int, tmp_path: Path) -> None:
    made = random.Random(number)
    entries = [made.randbytes(made.choice((0, 1, 5, 200))) for _entry in range(number)]
    assert list(sorted_entries(iter(entries), tmp_path, run_bytes)) == sorted(entries)
    assert not list(tmp_path.iterdir())


def test_large_entries_are_kept(tmp_path: Path) -> None:
    entries = [bytes([number]) * (1 << 18) for number in (3, 1, 2, 1)]
    assert list(sorted_entries(entries, tmp_path, 1 << 19)) == sorted(entries)


def test_memory_is_bounded(tmp_path: Path) -> None:
    def made() -> Iterator[bytes]:
        each = random.Random(1)
        for _entry in range(100_000):
            yield each.randbytes(100)

    tracemalloc.start()
    try:
        found = sum(1 for _entry in sorted_entries(made(), tmp_path, 1 << 20))
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == 100_000
    # 15 MB of entries: one run of 1 MiB twice, and a block of 64 KiB for each of 15 runs.
    assert peak < 5 << 20


def test_broken_source_ends_the_sort(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"b" * 100
        yield b"a" * 100
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(sorted_entries(broken(), tmp_path, 100))
    assert not list(tmp_path.iterdir())
