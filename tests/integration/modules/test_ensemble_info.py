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


def manners_of(ensemble: Ensemble | KeeperStandIn) -> Manners:
    return ZOOKEEPER if isinstance(ensemble, Ensemble) else ensemble.manners


def lacks_of(manners: Manners) -> list[str]:
    """Return what an ensemble of such manners lacks."""
    lacks = {
        "multi_read": not manners.multi_read,
        "kept_sessions": manners.is_keeper,
        "refusal_of_unseen": not manners.asks_what_was_seen,
    }
    return [name for name, is_lacking in lacks.items() if is_lacking]


def test_three_members(cold: Ensemble | KeeperStandIn) -> None:
    hosts = [member.address for member in cold.members]
    answer = survey(hosts)

    manners = manners_of(cold)
    assert answer["software"] == ("clickhouse_keeper" if manners.is_keeper else "zookeeper")
    assert answer["members_path"] == manners.members_path
    assert (answer["members_problem"], answer["changed"]) == ("", False)
    assert (lacking(answer), answer["multi_read"]) == (lacks_of(manners), manners.multi_read)
    assert [each["address"] for each in answer["members"]] == hosts
    assert sorted(each["mode"] for each in answer["members"]) == ["follower", "follower", "leader"]
    assert {each["version"] for each in answer["members"]} == set(answer["versions"])
    for each in answer["members"]:
        assert each["serves"]
        assert each["session_timeout"] == 30.0
        assert each["keeps_session"] == (not manners.is_keeper)
        assert each["refuses_unseen"] == manners.asks_what_was_seen
    assert answer["msg"].endswith(f"lacks {', '.join(lacks_of(manners)) or 'nothing'}")


def test_a_standalone_server(hot: Ensemble | KeeperStandIn) -> None:
    answer = survey([hot.members[0].address])

    assert lacking(answer) == lacks_of(manners_of(hot))
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


@pytest.mark.parametrize("named", [KEEPER, NEW_KEEPER, OLD_KEEPER, ZOOKEEPER], ids=lambda each: each.name)
def test_releases_differ(named: Manners) -> None:
    with KeeperStandIn(manners=named) as ensemble:
        answer = survey([ensemble.connect_string])

    assert lacking(answer) == lacks_of(named)
    assert answer["software"] == ("clickhouse_keeper" if named.is_keeper else "zookeeper")


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
