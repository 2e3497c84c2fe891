# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is broken, when, and in which order all of it comes about."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import count
from typing import NamedTuple

from support.servers.proxy import Action


class Kind(Enum):
    """A fault at one request of a run, in words for people."""

    KILLED = "run killed before the request"
    KILLED_AFTER = "run killed, request on its way"
    REQUEST_LOST = "request lost"
    ANSWER_LOST = "answer lost"
    REQUEST_DELAYED = "request delayed"
    """For a second, or until another run has taken over and ended."""
    ANSWER_DELAYED = "answer delayed"
    SESSION_EXPIRED = "session expired"
    HOT_KILLED = "member of hot killed"
    COLD_KILLED = "member of cold killed"
    HOT_LEADER = "leader of hot changed"
    COLD_LEADER = "leader of cold changed"
    HOT_PAUSED = "member of hot paused"
    COLD_PAUSED = "member of cold paused"
    CLICKHOUSE_KILLED = "ClickHouse killed"

    @property
    def action(self) -> Action:
        """What happens to the request."""
        return _ACTIONS.get(self, Action.HOLD)

    @property
    def kills_run(self) -> bool:
        """Whether the run is a process that is killed."""
        return self in {Kind.KILLED, Kind.KILLED_AFTER}

    @property
    def breaks_servers(self) -> bool:
        """Whether an insert may get no answer meanwhile."""
        return self in {Kind.HOT_KILLED, Kind.HOT_LEADER, Kind.HOT_PAUSED, Kind.CLICKHOUSE_KILLED}

    @property
    def stops_members(self) -> bool:
        """Whether members of an ensemble do not answer for a while."""
        return self in _OF_MEMBERS


_ACTIONS: Mapping[Kind, Action] = {
    Kind.REQUEST_LOST: Action.LOSE_REQUEST,
    Kind.ANSWER_LOST: Action.LOSE_REPLY,
    Kind.ANSWER_DELAYED: Action.HOLD_REPLY,
}
_OF_MEMBERS = frozenset({
    Kind.HOT_KILLED,
    Kind.COLD_KILLED,
    Kind.HOT_LEADER,
    Kind.COLD_LEADER,
    Kind.HOT_PAUSED,
    Kind.COLD_PAUSED,
})  # fmt: skip


class Phase(Enum):
    """What a run does to partitions; they go through all three again and again."""

    MOVE = "move"
    REHEAT = "way back"
    CLEAN = "removal of copies"


PHASES = tuple(Phase)


class Fault(NamedTuple):
    """One fault: `kind` at the request `request` of a run of the phase."""

    number: int
    phase: Phase
    kind: Kind
    request: int


def one_at_each(requests: Mapping[Phase, int]) -> int:
    """How many faults of a schedule there are until there was one at each request of every phase."""
    return len(PHASES) * max(requests.values())


def schedule(seed: int, requests: Mapping[Phase, int]) -> Iterator[Fault]:
    """Yield faults for ever; every phase has each of its requests with each kind, in an order of the seed.

    The phases take turns. Of a phase with n requests the first n faults are at n requests, of all kinds in
    turn; the next n are at the same, each of the next kind; and so on. The first 14 faults, of all phases
    together, are of 14 kinds.
    `requests`: how many a run of each phase sends.
    """
    chance = random.Random(seed)
    kinds = chance.sample(list(Kind), len(Kind))
    orders = [chance.sample(range(requests[phase]), requests[phase]) for phase in PHASES]
    # Five, five and four kinds.
    apart = -(-len(kinds) // len(PHASES))
    for number in count():
        turn, which = divmod(number, len(PHASES))
        again, place = divmod(turn, len(orders[which]))
        kind = kinds[(which * apart + place + again) % len(kinds)]
        yield Fault(number, PHASES[which], kind, orders[which][place])
