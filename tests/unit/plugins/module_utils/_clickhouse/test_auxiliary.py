# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conditions on what is in an auxiliary ensemble."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.auxiliary import children_in


def test_the_ensemble_is_the_last_condition() -> None:
    """ClickHouse 25.8 refuses a condition after it."""
    assert children_in("cold", "/it's") == "path = '/it\\'s' AND zookeeperName = 'cold'"
    assert children_in("cold", "/", "name = 'a'", "1") == (
        "path = '/' AND name = 'a' AND 1 AND zookeeperName = 'cold'"
    )
