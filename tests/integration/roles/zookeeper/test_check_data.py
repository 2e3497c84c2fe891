# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which members may join an ensemble: the checks of the role, on hosts that are folders of this machine."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.ansible.calls import PlaybookRun, run_playbook

DATA = ("version-2/log.1", "version-2/snapshot.0")
FOLLOWED = ("version-2/snapshot.100000000.gz",)
# What a member has that was started without data, and found no other.
STARTED = ("version-2/snapshot.0", "version-2/currentEpoch", "version-2/acceptedEpoch")
NEW = ()


class Host(NamedTuple):
    """A member before the run: its files, and what it is.

    now: leader, follower or standalone; empty if it does not serve.
    former: other files, in the folder that is its dataDir now.
    """

    files: tuple[str, ...] = NEW
    now: str = ""
    former: tuple[str, ...] = NEW


ALONE, LEADER, FOLLOWER = Host(DATA, "standalone"), Host(DATA, "leader"), Host(FOLLOWED, "follower")
DOWN = Host(DATA)
EMPTY, EMPTY_STARTED = Host(), Host(STARTED)


class Case(NamedTuple):
    """An ensemble of a run.

    refusal: in the messages of all members; empty if nothing is refused.
    left_out: how many further members no host of the play is.
    """

    hosts: tuple[Host, ...]
    refusal: str = ""
    left_out: int = 0
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed


CASES = {
    "new": Case((EMPTY, EMPTY, EMPTY_STARTED)),
    "same": Case((LEADER, FOLLOWER, DOWN)),
    "just-made": Case((Host(FOLLOWED, "leader"), Host(STARTED, "follower"), Host(STARTED, "follower"))),
    "emptied": Case(
        (DOWN, Host(STARTED, "leader"), Host(STARTED, "follower")),
        "emptied-1 has data and does not serve, and emptied-2, emptied-3 serve without any file of znodes",
    ),
    "one-beside-two": Case(
        (ALONE, Host(STARTED, "leader"), Host(STARTED, "follower")),
        "one-beside-two-1 is an ensemble by itself, and more hosts of zookeeper_members have data",
    ),
    "same-in-part": Case((LEADER, FOLLOWER), left_out=1),
    "one-to-two": Case((ALONE, EMPTY)),
    "one-to-two-again": Case((ALONE, EMPTY_STARTED)),
    "one-of-two-to-go": Case((DOWN, EMPTY_STARTED)),
    "two-to-three": Case((LEADER, FOLLOWER, EMPTY)),
    "three-to-five": Case((LEADER, FOLLOWER, FOLLOWER, EMPTY, EMPTY)),
    "observer": Case((LEADER, FOLLOWER, EMPTY), settings={"server.9": "o:2888:3888:observer;2181"}),
    "one-to-three": Case(
        (ALONE, EMPTY, EMPTY),
        "one-to-three-2, one-to-three-3 of zookeeper_members have no data, and only one-to-three-1 has:"
        " members without data could elect a leader among themselves, and all znodes would be lost."
        " Nothing was changed. Add or replace at most 1 of them per run",
    ),
    "one-to-three-again": Case((ALONE, EMPTY_STARTED, EMPTY_STARTED), "Add or replace at most 1 of them"),
    "two-to-four": Case((LEADER, FOLLOWER, EMPTY, EMPTY), "Add or replace at most 1 of them per run"),
    "three-to-six": Case(
        (LEADER, FOLLOWER, FOLLOWER, EMPTY, EMPTY, EMPTY), "Add or replace at most 2 of them per run"
    ),
    "two-replaced": Case((DOWN, EMPTY, EMPTY), "Add or replace at most 1 of them per run"),
    "down": Case(
        (LEADER, DOWN, EMPTY),
        "down-2 has data and does not serve, and down-3 would join without data: together they could elect a"
        " leader that lacks the latest changes.",
    ),
    "left-out": Case(
        (ALONE, EMPTY),
        "Whether left-out-3 has data is unknown, because this run leaves it out, and left-out-1, left-out-2"
        " would become a member with it",
        left_out=1,
    ),
    "new-left-out": Case((EMPTY, EMPTY), "Whether new-left-out-3 has data is unknown", left_out=1),
    "alone-left-out": Case((ALONE,), "Whether alone-left-out-2, alone-left-out-3 has data", left_out=2),
    "foreign": Case(
        (ALONE, DOWN, EMPTY),
        "foreign-1 is an ensemble by itself, and more hosts of zookeeper_members have data (foreign-1,"
        " foreign-2)",
    ),
    "votes": Case(
        (LEADER, FOLLOWER, EMPTY),
        "votes-3 would join without data, and whether members without data would be a quorum is unknown with"
        " server.9, weight.1 of zookeeper_settings",
        settings={"server.9": "o:2888:3888", "weight.1": 0},
    ),
    "left": Case(
        (Host(former=DATA),),
        "/left-1/former, and would be started with",
    ),
    "moved": Case((Host(DATA, former=STARTED),)),
}


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> PlaybookRun:
    """A run of the checks in check mode for the ensembles of all tests, each with hosts of its own."""
    folder = tmp_path_factory.mktemp("check-data")
    hosts = {}
    selected = {each.callspec.id for each in request.session.items if each.path == request.path}  # type: ignore[attr-defined]
    for case, ensemble in CASES.items():
        if case not in selected:
            continue
        members = {
            number: f"{case}-{number}" for number in range(1, len(ensemble.hosts) + ensemble.left_out + 1)
        }
        for number, host in enumerate(ensemble.hosts, start=1):
            name = members[number]
            hosts[name] = {
                "zookeeper_members": members,
                "zookeeper_data_dir": _written(folder / name / "data", host.files),
                "zookeeper_config_dir": _configured(folder / name, host),
                "zookeeper_settings": ensemble.settings,
                "mode": host.now,
            }
    inventory = folder / "hosts.json"
    inventory.write_text(json.dumps({"zookeeper": {"hosts": hosts}}))
    use = {"name": "olap.partmove.zookeeper", "tasks_from": "check_data"}
    play = {"hosts": "zookeeper", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": use}]}
    playbook = folder / "site.yml"
    playbook.write_text(json.dumps([play]))
    # What each member is; nothing listens here.
    given = {"zookeeper__mode": "{{ mode }}", "zookeeper_admin_port": 0, "zookeeper_client_port": 0}
    environment = {
        "ANSIBLE_FORKS": "4",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
    }
    extra = ["-i", str(inventory), "-e", json.dumps(given)]
    return run_playbook(playbook, *extra, "--check", **environment)


def _written(folder: Path, files: tuple[str, ...]) -> str:
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    # The same folder for Ansible and for ZooKeeper.
    return f"{folder}/"


def _configured(folder: Path, host: Host) -> str:
    """Write the configuration that the member was started with; it has none if it is new."""
    config = folder / "config"
    data = _written(folder / "former", host.former) if host.former else f"{folder}/data"
    if host.files or host.former:
        config.mkdir()
        others = "" if host.now == "standalone" else "server.1=a:2888:3888\n"
        (config / "zoo.cfg").write_text(f"dataDir={data}\n{others}")
    return str(config)


@pytest.mark.parametrize("case", CASES)
def test_members_join_only_if_no_data_can_be_lost(case: str, run: PlaybookRun) -> None:
    hosts, refusal = CASES[case].hosts, CASES[case].refusal
    for number in range(1, len(hosts) + 1):
        name = f"{case}-{number}"
        counts = re.search(rf"(?m)^{name} +: .* changed=(\d+) .* failed=(\d+) ", run.output)
        failed = re.findall(rf'(?ms)^fatal: \[{name}\].*?"msg": "(.*?)"$', run.output)
        assert counts, run.told
        assert counts.groups() == ("0", "1" if refusal else "0"), failed
        assert not refusal or refusal in failed[0], failed
