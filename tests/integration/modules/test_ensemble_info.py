# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module ensemble_info: ensembles of different manners, and what they lack."""

from __future__ import annotations

from typing import Any

import pytest

from support.ansible.calls import Call, run_modules
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.keeper.manners import KEEPER, NEW_KEEPER, OLD_KEEPER, ZOOKEEPER, Manners
from support.servers.zookeeper import Ensemble

_OF_KEEPER = ["kept_sessions", "refusal_of_unseen"]


def survey(hosts: list[str], **options: object) -> dict[str, Any]:
    """Return what the module says; check mode says the same."""
    call = Call("ensemble_info", {"hot": {"hosts": hosts, "connect_timeout": 5.0, **options}}, False)
    done, checked = run_modules(call, call._replace(check_mode=True))
    for each in (done, checked):
        assert each.pop("sync_ms") > 0
    assert checked == done
    return done


def lacking(answer: dict[str, Any]) -> list[str]:
    return [each["name"] for each in answer["lacks"]]


def test_three_members(cold: Ensemble, manners: str) -> None:
    hosts = [member.address for member in cold.members]
    answer = survey(hosts)

    is_keeper = manners == "keeper"
    assert answer["software"] == ("clickhouse_keeper" if is_keeper else "zookeeper")
    assert answer["members_path"] == ("/keeper/config" if is_keeper else "/zookeeper/config")
    assert (answer["members_problem"], answer["multi_read"], answer["changed"]) == ("", True, False)
    assert lacking(answer) == (_OF_KEEPER if is_keeper else [])
    assert [each["address"] for each in answer["members"]] == hosts
    assert sorted(each["mode"] for each in answer["members"]) == ["follower", "follower", "leader"]
    assert {each["version"] for each in answer["members"]} == set(answer["versions"])
    for each in answer["members"]:
        assert each["serves"]
        assert each["session_timeout"] == 30.0
        assert each["keeps_session"] == each["refuses_unseen"] == (not is_keeper)
    assert answer["msg"].endswith("lacks kept_sessions, refusal_of_unseen" if is_keeper else "lacks nothing")


def test_a_standalone_server(hot: Ensemble, manners: str) -> None:
    answer = survey([hot.members[0].address])

    assert lacking(answer) == (_OF_KEEPER if manners == "keeper" else [])
    assert answer["members"][0]["mode"] == "standalone"


def test_members_that_are_missing_or_down(cold: Ensemble) -> None:
    hosts = [member.address for member in cold.members]
    two = survey(hosts[:2])
    cold.members[2].kill()
    down = survey(hosts)

    assert lacking(two)[0] == "all_members"
    assert two["lacks"][0]["blocks"] == "part_move and part_repair as cold"
    assert "is not among the hosts" in two["members_problem"]
    assert lacking(down)[:3] == ["all_members", "every_member_serves", "four_letters"]
    assert [each["serves"] for each in down["members"]] == [True, True, False]
    assert down["members"][2]["keeps_session"] is None


@pytest.mark.parametrize(
    ("manners_of", "lacks"),
    [
        (KEEPER, _OF_KEEPER),
        (NEW_KEEPER, ["kept_sessions"]),
        (OLD_KEEPER, ["multi_read", *_OF_KEEPER]),
        (ZOOKEEPER, []),
    ],
    ids=lambda each: each.name if isinstance(each, Manners) else "",
)
def test_releases_differ(manners_of: Manners, lacks: list[str]) -> None:
    with KeeperStandIn(manners=manners_of) as ensemble:
        answer = survey([ensemble.connect_string])

    assert lacking(answer) == lacks
    assert answer["software"] == ("clickhouse_keeper" if manners_of.is_keeper else "zookeeper")


def test_a_session_timeout_that_is_not_granted(hot: Ensemble) -> None:
    answer = survey([hot.members[0].address], session_timeout=3_600.0)

    assert lacking(answer)[0] == "session_timeout"
    assert 30.0 < answer["members"][0]["session_timeout"] < 3_600.0


def test_an_ensemble_that_does_not_answer() -> None:
    (answer,) = run_modules(
        Call("ensemble_info", {"hot": {"hosts": ["127.0.0.1:1"], "connect_timeout": 1.0}}, False)
    )

    assert answer["failed"]
    assert "No answer from ensemble hot (127.0.0.1:1) within 1 s" in answer["msg"]
