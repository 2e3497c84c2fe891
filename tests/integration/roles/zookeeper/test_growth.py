# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why the role lets few members without data join: what ensembles keep that grow in the order of the role."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml

from support.servers.kazoo_client import connected
from support.servers.zookeeper import Ensemble, EnsembleOptions, Member

TASKS = Path(__file__).resolve().parents[4] / "roles" / "zookeeper" / "tasks" / "check_data.yml"


@pytest.fixture
def members(tmp_path: Path) -> Iterator[list[Member]]:
    """Three members, of which the first has a znode and runs alone."""
    ensemble = Ensemble(tmp_path / "zookeeper", EnsembleOptions(participants=3))
    try:
        first = ensemble.members[0]
        configure([first], ensemble.members)
        first.start()
        with connected(first.address) as client:
            client.create("/kept")
        yield ensemble.members
    finally:
        ensemble.close()


def configure(listed: Sequence[Member], every: Sequence[Member]) -> None:
    """Write the list of members into the configuration of each of them; one alone has no list."""
    numbers = {str(member.myid) for member in listed} if len(listed) > 1 else set()
    for member in listed:
        path = member.files.folder / "zoo.cfg"
        lines = [line for line in path.read_text().splitlines() if not line.startswith("server.")]
        lines += [
            f"server.{each.myid}=127.0.0.1:{each.files.ports.quorum}:{each.files.ports.election}"
            for each in every
            if str(each.myid) in numbers
        ]
        path.write_text("\n".join(lines) + "\n")


def grow(former: Sequence[Member], joining: Sequence[Member], every: Sequence[Member]) -> None:
    """Start the members that join, then restart the others one by one, as the role does."""
    configure([*former, *joining], every)
    for member in joining:
        member.spawn()
    # Members that join the only one serve only with it.
    for member in joining if len(former) > 1 or len(joining) > 1 else ():
        member.wait()
    for member in former:
        member.stop()
        member.start()
    for member in joining:
        member.wait()


def has_znode(member: Member) -> bool:
    with connected(member.address) as client:
        client.sync("/")
        return client.exists("/kept") is not None


def has_data(member: Member) -> bool:
    """Whether the role finds data of the member."""
    (find,) = [task for task in yaml.safe_load(TASKS.read_text()) if "ansible.builtin.find" in task]
    pattern = re.compile(find["ansible.builtin.find"]["patterns"])
    return any(pattern.match(path.name) for path in (member.data_dir / "version-2").glob("*"))


def test_an_ensemble_that_grows_by_one_keeps_its_znodes(members: list[Member]) -> None:
    first, second, third = members
    grow([first], [second], members)
    assert [has_znode(member) for member in (first, second)] == [True, True]
    grow([first, second], [third], members)
    assert [has_znode(member) for member in members] == [True, True, True]
    assert all(map(has_data, members))


def test_two_members_that_join_one_would_lose_its_znodes(members: list[Member]) -> None:
    """The role refuses this."""
    first, *joining = members
    grow([first], joining, members)
    assert [has_znode(member) for member in members] == [False, False, False]


def test_a_member_that_waits_for_a_quorum_has_no_data(members: list[Member]) -> None:
    """So a run that was killed before the restart of the first member can be repeated."""
    first, second, _third = members
    configure([first, second], members)
    second.spawn()
    while not (second.data_dir / "version-2" / "currentEpoch").exists():
        time.sleep(0.1)
    # Until it has written all that it writes without a leader.
    while "LOOKING" not in second.log_tail(400):
        time.sleep(0.1)
    assert (has_data(first), has_data(second)) == (True, False)
    assert (second.mode(), first.mode()) == (None, "standalone")
