# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the operator vouches for the servers, nothing is refused and nothing checked."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import Judgement
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.readiness import AssumePatched
from support.memory.bench import DAY, Bench


def test_the_operator_vouches_for_every_server() -> None:
    bench = Bench()
    shard = bench.reader().shard()
    assert AssumePatched().judge(shard, [DAY]) == Judgement({}, ())
