# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bad input to every parser, a little of it; ``make fuzz`` is the long form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from fuzz.run import Failure, all_targets, fuzz, input_of
from fuzz.target import Target

SEED = 20_261_122
INPUTS = range(150)
TARGETS = {target.name: target for target in all_targets()}


@pytest.mark.parametrize("name", TARGETS)
def test_bad_input_is_refused_in_a_sentence(name: str) -> None:
    (count,) = fuzz([TARGETS[name]], SEED, INPUTS)
    assert count.taken + count.refused


def test_the_same_seed_makes_the_same_input() -> None:
    for target in TARGETS.values():
        assert input_of(target, SEED, 7) == input_of(target, SEED, 7)
    log_entry = TARGETS["log entry"]
    assert len({input_of(log_entry, SEED, number) for number in range(50)}) > 40


def fails(data: bytes) -> object:
    if data != b"data":
        raise KeyError("anything")
    return data


def refuses_without_a_remedy(data: bytes) -> object:
    if data != b"data":
        raise PartMoveError("It is wrong")
    return data


@pytest.mark.parametrize(
    ("read", "what"), [(fails, "KeyError"), (refuses_without_a_remedy, "without a sentence or a remedy")]
)
def test_anything_else_is_told_with_the_command_that_does_it_again(
    read: Callable[[bytes], object], what: str
) -> None:
    target = Target("a parser", [b"data"], read, PartMoveError)
    with pytest.raises(Failure, match=what) as failure:
        list(fuzz([target], SEED, range(20)))
    assert "make fuzz SEED=20261122 INPUTS=1 FIRST=" in str(failure.value)
    assert "ONLY='a parser'" in str(failure.value)
