# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Generated mutants that survive, each judged by a person: the files of this folder, one for each room.

A line of ``changes`` is what `make mutants WHAT=generated` prints of a survivor after the name of the file:
the first line of the changed code, and the change. So a judgement ends with the code that it is about.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from mutants.mutant import Stale
from mutants.run import Verdict

EFFECTS = ("none", "text", "safe")
"""No input makes a difference; a message differs, which a test compares; or what differs does no harm."""

_FOLDER = Path(__file__).parent


class Survivor(NamedTuple):
    """The judgement of one mutant: its effect, and why it has no other."""

    effect: str
    why: str


def survivors() -> dict[str, Survivor]:
    """Return name of the mutant → judgement. Raises ValueError for a mutant that is judged twice."""
    judged: dict[str, Survivor] = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        for each in tomllib.loads(path.read_text(encoding="utf-8"))["survivor"]:
            for change in each["changes"]:
                name = f"{each['file']}: {change}"
                if name in judged:
                    raise ValueError(f"{path.name} judges {name!r}, which is judged already")
                judged[name] = Survivor(each["effect"], each["why"])
    return judged


def check_survivors(judged: Iterable[str], generated: Iterable[str]) -> None:
    """Raise Stale for a judgement of a mutant that is not generated any more."""
    gone = sorted(set(judged) - set(generated))
    if gone:
        raise Stale(
            f"{len(gone)} judged survivors are stale, as their code changed: judge what is there now, or take"
            f" them out: {'; '.join(gone)}"
        )


def wrong_judgements(verdicts: Iterable[Verdict], judged: Mapping[str, Survivor]) -> list[str]:
    """Return which judgements are not true: of killed mutants, and of messages that no test compares."""
    wrong: list[str] = []
    for verdict in verdicts:
        name = verdict.mutant.name
        if name not in judged:
            continue
        if not verdict.survived:
            wrong.append(f"{verdict.killed_by} kills a judged survivor, take it out: {name}")
        elif judged[name].effect == "text" and not verdict.by_text:
            wrong.append(f"no test compares the message of a judged survivor: {name}")
    return wrong
