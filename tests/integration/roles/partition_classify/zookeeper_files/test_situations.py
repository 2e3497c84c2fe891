# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that are missing, cut, emptied, stale or of another ensemble: read rightly, or refused.

The judge is ZooKeeper's own restore, of the release that wrote the files: of all logs up to the transaction
at which the reader says that the tree is, and of the same files. `SITUATIONS=500` tries more of them, of
every release and also of three servers, beginning with the number `SITUATIONS_FROM`.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from support.files.histories import options, write_history
from support.files.restored import judge
from support.files.situations import History, situation, verdict
from support.servers.downloads import NotToBeHad
from support.servers.process import ServerError
from support.servers.zookeeper import Ensemble
from support.servers.zookeeper_releases import RELEASES, Release

COUNT = int(os.environ.get("SITUATIONS", "0"))
FIRST = int(os.environ.get("SITUATIONS_FROM", "0"))
_SHORT = 25
RELEASE_BY_VERSION: dict[str, Release | None] = {
    **{release.version: release for release in RELEASES},
    "3.9.5": None,
}
VERSIONS = list(RELEASE_BY_VERSION) if COUNT else ["3.4.13", "3.9.5"]
MEMBERS = {"one": 1, "two": 1, **({"three": 3} if COUNT else {})}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_read_is_what_zookeeper_restores(
    version: str, connect: Callable[[str], KazooClient], tmp_path: Path
) -> None:
    release = RELEASE_BY_VERSION[version]
    try:
        if release is not None:
            release.jars()
        written = {
            name: (tmp_path / name, _write(release, participants, seed, connect, tmp_path / name))
            for seed, (name, participants) in enumerate(MEMBERS.items())
        }
    except NotToBeHad as error:
        pytest.skip(f"NOT RUN: there is no ZooKeeper {version} here: {error}")
    with judge(release) as restoring:
        histories = [
            History(name, folder, restoring, tmp_path, copies) for name, (folder, copies) in written.items()
        ]
        outcomes: Counter[str] = Counter()
        wrong = []
        for seed in range(FIRST, FIRST + (COUNT or _SHORT)):
            chance = random.Random(seed)
            history, other = chance.sample(histories, 2)
            name = situation(chance, tmp_path / "situation", history, other)
            outcome, message = verdict(tmp_path / "situation", [history, other])
            outcomes[outcome.partition(":")[0]] += 1
            if outcome.startswith("WRONG"):
                wrong.append(f"{seed}: {history.name}, {name}: {outcome}")
            if message.startswith("ZooKeeper restores another tree"):
                wrong.append(f"{seed}: {history.name}, {name}: {message}")
    sys.stderr.write(f"situations of files of ZooKeeper {version}: {dict(outcomes)}\n")
    assert not wrong
    # Neither everything is refused, nor everything read.
    assert min(outcomes["right"], outcomes["refused"]) > sum(outcomes.values()) // 10


def _write(
    release: Release | None,
    participants: int,
    seed: int,
    connect: Callable[[str], KazooClient],
    target: Path,
) -> list[Path]:
    try:
        ensemble = Ensemble(
            target.with_name(f"{target.name}-servers"), options(release, participants=participants)
        )
    except ServerError as error:
        raise NotToBeHad(str(error)) from error
    with ensemble:
        return write_history(
            ensemble,
            connect,
            seed,
            target,
            since_3_5=release is None or not release.version.startswith("3.4."),
            turns=3 if COUNT else 1,
        )
