# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All threads of a run stay on one processor until the end."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._tasks import one_processor
from ansible_collections.olap.partmove.plugins.module_utils._tasks.one_processor import (
    on_one_processor,
    processor_now,
)

LONG_SECONDS = 60.0

several = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="NOT RUN: it takes a machine with two processors"
)


@contextmanager
def waiting_thread() -> Iterator[int]:
    """Return the id of a waiting thread."""
    ended, began = threading.Event(), threading.Event()
    ids: list[int] = []

    def wait() -> None:
        ids.append(threading.get_native_id())
        began.set()
        ended.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    began.wait()
    try:
        yield ids[0]
    finally:
        ended.set()
        thread.join()


@several
def test_all_threads_are_on_the_same_processor_until_the_end() -> None:
    allowed = os.sched_getaffinity(0)
    with waiting_thread() as before:
        with on_one_processor(), waiting_thread() as during:
            mine = os.sched_getaffinity(0)
            assert len(mine) == 1
            assert mine <= allowed
            assert processor_now() in mine
            assert os.sched_getaffinity(before) == os.sched_getaffinity(during) == mine
        assert os.sched_getaffinity(before) == os.sched_getaffinity(0) == allowed


@several
def test_an_error_ends_the_restriction_too() -> None:
    allowed = os.sched_getaffinity(0)
    with pytest.raises(ValueError, match="no reason"), on_one_processor():
        raise ValueError("no reason")
    assert os.sched_getaffinity(0) == allowed


@several
def test_the_processor_is_chosen_again_for_all_threads() -> None:
    allowed = os.sched_getaffinity(0)
    deadline = time.monotonic() + LONG_SECONDS
    with on_one_processor(0.01), waiting_thread() as other:
        os.sched_setaffinity(other, allowed)
        while len(os.sched_getaffinity(other)) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@several
@pytest.mark.parametrize("lacking", ["lock", "call", "file", "field", "number"])
def test_nothing_happens_without_benefit_or_support(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lacking: str
) -> None:
    allowed = os.sched_getaffinity(0)
    affinity = os.sched_getaffinity
    if lacking == "lock":
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    elif lacking == "call":
        monkeypatch.delattr(os, "sched_getaffinity")
    else:
        lines = {"field": "1 (python) S 1", "number": f"1 (python) {'x ' * 50}"}
        if lacking in lines:
            (tmp_path / "stat").write_text(lines[lacking])
        monkeypatch.setattr(one_processor, "_THIS_THREAD", tmp_path / "stat")
    with on_one_processor():
        assert affinity(0) == allowed
        assert "one-processor" not in {each.name for each in threading.enumerate()}
