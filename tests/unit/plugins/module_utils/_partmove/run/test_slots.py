# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""At how many shard paths a run works on a server at the same time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.latency_loop import (
    LatencyLoop,
    Sizes,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.slots import SLOTS, Slots

USUAL, TARGET = 0.001, 0.005


class Clock:
    """Does something at each sleep; without a number of them, sleeps."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        self.acts = [*acts]

    def now(self) -> float:
        raise AssertionError

    def sleep(self, seconds: float) -> None:
        if self.acts:
            self.acts.pop(0)()
        else:
            time.sleep(seconds / 50)


class Impatient(Exception):
    """A thread that waits is to end."""


def give_up() -> None:
    raise Impatient


def slots_of(**sizes: float) -> Slots:
    slots = Slots()
    for server, size in sizes.items():
        slots.follow(server, LatencyLoop([USUAL] * 5, TARGET, Sizes(size, 1, 64)))
    return slots


def is_free(slots: Slots, *servers: str) -> bool:
    """Whether the slots can be taken without a wait; they are given back."""
    try:
        with slots.taken(servers, Clock(give_up)):
            return True
    except Impatient:
        return False


def test_a_server_without_a_loop_has_no_limit() -> None:
    slots = Slots()
    with slots.taken(["a"], Clock()), slots.taken(["a"], Clock()):
        assert is_free(slots, "a")


@pytest.mark.parametrize(("size", "fit"), [(1, 1), (1.9, 1), (2, 2), (3.5, 3)])
def test_only_whole_slots_are_taken(size: float, fit: int) -> None:
    slots = slots_of(a=size)
    blocks = [slots.taken(["a"], Clock()) for _each in range(fit)]
    for each in blocks:
        assert is_free(slots, "a")
        each.__enter__()
    assert not is_free(slots, "a")
    blocks[0].__exit__(None, None, None)
    assert is_free(slots, "a")


def test_slots_are_taken_at_all_servers_or_at_none() -> None:
    slots = slots_of(a=1, b=1)
    with slots.taken(["a"], Clock()):
        assert not is_free(slots, "a", "b")
        assert is_free(slots, "b")


def test_an_error_gives_the_slots_back() -> None:
    slots = slots_of(a=1)
    with pytest.raises(Impatient), slots.taken(["a"], Clock()):
        give_up()
    with slots.taken(["a"], Clock()), pytest.raises(Impatient), slots.taken(["a"], Clock(give_up)):
        raise AssertionError
    assert is_free(slots, "a")


def test_a_server_that_was_used_and_is_quick_has_more_slots() -> None:
    slots = slots_of(a=1)
    assert not slots.is_used("a")
    with slots.taken(["a"], Clock()):
        assert slots.is_used("a")
    for _each in range(5):
        slots.measured("a", USUAL)
    assert not slots.is_used("a")
    with slots.taken(["a"], Clock()):
        assert not is_free(slots, "a"), "used for one of the measurements alone"
        for _each in range(5):
            slots.measured("a", USUAL)
        assert is_free(slots, "a")
        for _each in range(3):
            slots.measured("a", 1.0)
        assert not is_free(slots, "a")


def test_who_waits_first_is_served_first() -> None:
    slots, served = slots_of(a=1, b=1), list[int]()
    waiting = threading.Event()

    def first() -> None:
        with slots.taken(["a", "b"], Clock(waiting.set)):
            served.append(1)

    thread = threading.Thread(target=first, daemon=True)
    with slots.taken(["a"], Clock()):
        thread.start()
        assert waiting.wait(30)
        # Its slot is free, but the first one waits for it.
        assert not is_free(slots, "b")
    thread.join(30)
    assert served == [1]
    assert is_free(slots, "a", "b")


def test_many_threads_never_take_more_than_there_are() -> None:
    slots, taken, most, guard = slots_of(a=2, b=1), Counter[str](), Counter[str](), threading.Lock()

    def work(number: int) -> None:
        servers = [["a"], ["b"], ["a", "b"]][number % 3]
        for _each in range(10):
            with slots.taken(servers, Clock()):
                with guard:
                    taken.update(servers)
                    for each in servers:
                        most[each] = max(most[each], taken[each])
                time.sleep(0.001)
                with guard:
                    taken.subtract(servers)

    with ThreadPoolExecutor(9) as pool:
        for done in [pool.submit(work, number) for number in range(9)]:
            done.result(60)
    assert most == {"a": 2, "b": 1}


def test_a_server_always_has_a_slot() -> None:
    assert SLOTS.first == SLOTS.least == 1
