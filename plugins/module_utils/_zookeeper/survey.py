# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an ensemble is, and what it lacks of the manners of a ZooKeeper of today.

Nothing is written to the ensemble.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.zip_strict import zip_strict
from .four_letters import Release, Software, ask_release
from .manners import Manners, ask_manners
from .members import KEEPER_CONFIG, ZOOKEEPER_CONFIG
from .options import EnsembleOptions
from .store import ZooKeeperStore

_SYNCS = 5


class MemberSurvey(NamedTuple):
    """One host; None for what it did not tell."""

    address: str
    release: Release | None
    manners: Manners | None


class Lack(NamedTuple):
    """What an ensemble lacks, and what follows from that.

    blocks: the modules that refuse such an ensemble, in words; empty if all work with it.
    """

    name: str
    means: str
    blocks: str = ""


class EnsembleSurvey(NamedTuple):
    """An ensemble and its members, in the order of the hosts.

    asked_timeout: seconds of the session timeout in the options.
    sync_seconds: median time of a sync that is waited for.
    members_problem: why the hosts are not proven to be all members; empty if they are.
    """

    software: Software
    members: tuple[MemberSurvey, ...]
    multi_read: bool
    asked_timeout: float
    sync_seconds: float
    members_path: str
    members_problem: str

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the members that told theirs, each once."""
        return tuple(sorted({each.release.version for each in self.members if each.release is not None}))

    @property
    def lacks(self) -> tuple[Lack, ...]:
        """What the ensemble lacks, those that block a module first."""
        return tuple(lack for lack, is_lacking in _LACKS if is_lacking(self))


def survey_ensemble(store: ZooKeeperStore, options: EnsembleOptions) -> EnsembleSurvey:
    """Ask an ensemble and each of its hosts. Raises EnsembleUnreachable, AccessDenied and kin."""
    seconds = options.connect_timeout
    with ThreadPoolExecutor(max_workers=len(options.hosts)) as pool:
        members = tuple(pool.map(lambda host: _member(options, host, seconds), options.hosts))
    paths = (KEEPER_CONFIG, ZOOKEEPER_CONFIG)
    found = zip_strict(paths, store.read(paths, absolute=True))
    lists = [path for path, znode in found if znode is not None]
    return EnsembleSurvey(
        _software(members, lists),
        members,
        store.has_multi_read,
        options.session_timeout,
        _sync_seconds(store),
        lists[0] if lists else "",
        _members_problem(store),
    )


def _member(options: EnsembleOptions, host: str, seconds: float) -> MemberSurvey:
    return MemberSurvey(host, ask_release(options, host, seconds), ask_manners(options, host, seconds))


def _software(members: Sequence[MemberSurvey], lists: Sequence[str]) -> Software:
    """Return what the members say, or else whose list of members there is."""
    told = {each.release.software for each in members if each.release is not None}
    if len(told) == 1:
        return told.pop()
    if told or len(lists) != 1:
        return Software.UNKNOWN
    return Software.KEEPER if lists[0] == KEEPER_CONFIG else Software.ZOOKEEPER


def _sync_seconds(store: ZooKeeperStore) -> float:
    times: list[float] = []
    for _each in range(_SYNCS):
        begin = time.monotonic()
        store.sync("/")
        store.read(["/"])
        times.append(time.monotonic() - begin)
    return sorted(times)[_SYNCS // 2]


def _members_problem(store: ZooKeeperStore) -> str:
    try:
        store.members()
    except PartMoveError as error:
        return str(error)
    return ""


def _manners(found: EnsembleSurvey) -> list[Manners]:
    return [each.manners for each in found.members if each.manners is not None]


def _releases(found: EnsembleSurvey) -> set[tuple[Software, str]]:
    return {each.release[:2] for each in found.members if each.release is not None}


_AS_COLD = "part_move and part_repair as cold"
_LACKS: tuple[tuple[Lack, Callable[[EnsembleSurvey], bool]], ...] = (
    (
        Lack(
            "all_members",
            "It is not proven that the hosts are all members; members_problem says why.",
            _AS_COLD,
        ),
        lambda found: bool(found.members_problem),
    ),
    (
        Lack(
            "every_member_serves",
            "A host grants no session, so a run that needs every member waits for it and ends.",
            _AS_COLD,
        ),
        lambda found: len(_manners(found)) < len(found.members),
    ),
    (
        Lack("one_release", "The members differ in software or version, as during an upgrade."),
        lambda found: len(_releases(found)) > 1,
    ),
    (
        Lack("four_letters", "A host does not answer srvr, so its version and load are not known."),
        lambda found: any(each.release is None for each in found.members),
    ),
    (
        Lack(
            "session_timeout",
            "A member grants another session timeout than asked for. The lock of a killed run lasts as long"
            " as its session, so lock_wait has to be longer than what is granted.",
        ),
        lambda found: any(each.session_timeout != found.asked_timeout for each in _manners(found)),
    ),
    (
        Lack("multi_read", "Each znode is read by a request of its own, so that reads take longer."),
        lambda found: not found.multi_read,
    ),
    (
        Lack(
            "kept_sessions",
            "A client whose connection breaks gets a new session, and its ephemeral znodes stay until the"
            " former one ends. A run replaces its lock. A ClickHouse server waits for the end.",
        ),
        lambda found: not all(each.keeps_session for each in _manners(found)),
    ),
    (
        Lack(
            "refusal_of_unseen",
            "A member accepts a client that has seen more than the member has, so that reads may go back"
            " after a reconnection. A run repeats such reads behind a sync. ClickHouse servers do not.",
        ),
        lambda found: not all(each.refuses_unseen for each in _manners(found)),
    ),
)
