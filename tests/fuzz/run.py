# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hands bad input to parsers, many times; the same seed makes the same input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

from .config_targets import config_targets
from .file_targets import file_targets
from .mutation import mutate
from .target import Target, Unfit
from .wire_targets import wire_targets
from .znode_targets import znode_targets


class Failure(Exception):
    """A parser did anything but take the input or refuse it in a sentence."""


class Count(NamedTuple):
    """What became of the input for one parser."""

    target: str
    taken: int
    refused: int

    def __str__(self) -> str:
        return f"{self.target}: {self.taken} taken, {self.refused} refused"


def all_targets() -> list[Target]:
    """Every parser."""
    return [*znode_targets(), *file_targets(), *config_targets(), *wire_targets()]


def fuzz(targets: Iterable[Target], seed: int, numbers: range) -> Iterator[Count]:
    """Hand inputs with these numbers to each parser; raises Failure at the first that it is no match for."""
    for target in targets:
        for data in target.corpus:
            target.read(data)
        ends = [_is_taken(target, seed, number) for number in numbers]
        yield Count(target.name, ends.count(True), ends.count(False))


def input_of(target: Target, seed: int, number: int) -> bytes:
    """The input with that number."""
    random = Random(f"{seed} {target.name} {number}")
    return mutate(random, random.choice(target.corpus), target.corpus)


def _is_taken(target: Target, seed: int, number: int) -> bool | None:
    """None for what would not reach the parser."""
    data = input_of(target, seed, number)
    try:
        target.read(data)
    except target.refuses as refusal:
        message, remedy = getattr(refusal, "message", ""), getattr(refusal, "remedy", "")
        if not message or not remedy:
            raise _failure(target, seed, number, data, "refused without a sentence or a remedy") from refusal
        return False
    except Unfit:
        return None
    except Exception as error:
        raise _failure(target, seed, number, data, f"{type(error).__name__}: {error}") from error
    return True


def _failure(target: Target, seed: int, number: int, data: bytes, what: str) -> Failure:
    shown = repr(data[:2000]) + ("…" if len(data) > 2000 else "")
    return Failure(
        f"{target.name}, input {number} of seed {seed}: {what}\n{shown}\n"
        f"Again: make fuzz SEED={seed} INPUTS=1 FIRST={number} ONLY='{target.name}'"
    )
