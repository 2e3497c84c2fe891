# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What repairs of one shard path share."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.shard import RepairShard


def test_runs_act_unless_told_otherwise() -> None:
    assert RepairShard._field_defaults == {"check_mode": False}
