# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The script that tells what a member is, against real members."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.servers.zookeeper import Ensemble, Member

SCRIPT = Path(__file__).resolve().parents[4] / "roles" / "zookeeper" / "files" / "member_state.py"
# The members of the tests have no admin server, as those of the package zookeeperd.
NO_ADMIN_SERVER = "0"


def _ask(member: Member, wait: int = 0) -> subprocess.CompletedProcess[str]:
    port = member.address.rpartition(":")[2]
    command = [sys.executable, str(SCRIPT), NO_ADMIN_SERVER, port, str(wait)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_members_tell_what_they_are(hot: Ensemble, cold: Ensemble) -> None:
    assert _ask(hot.members[0]).stdout == "standalone\n"
    assert sorted(_ask(member).stdout for member in cold.members) == ["follower\n", "follower\n", "leader\n"]


def test_a_member_without_a_quorum_does_not_serve(cold: Ensemble) -> None:
    leader, followers = cold.leader(), cold.followers()
    assert len(followers) == 2
    for follower in followers:
        follower.stop()
    # The leader notices after the sync limit, and then looks for a quorum.
    answer = _ask(leader)
    while "not currently serving requests" not in answer.stderr:
        answer = _ask(leader)
    assert (answer.stdout, answer.returncode) == ("", 1)
    assert answer.stderr.startswith("does not serve (port ")


def test_a_member_that_does_not_run_does_not_serve(cold: Ensemble) -> None:
    member = cold.followers()[0]
    member.stop()
    answer = _ask(member)
    assert answer.returncode == 1
    assert "refused" in answer.stderr


def test_the_script_waits_until_a_member_serves(cold: Ensemble) -> None:
    member = cold.followers()[0]
    member.stop()
    with ThreadPoolExecutor(max_workers=1) as background:
        waiting = background.submit(_ask, member, wait=300)
        member.start()
        assert waiting.result().returncode == 0
