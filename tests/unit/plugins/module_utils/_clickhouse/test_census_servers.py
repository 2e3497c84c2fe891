# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Failed servers have a problem; tests/integration covers answers of real servers."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.census_servers import query_servers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.settings import clients_of


def test_every_silent_server_says_why_in_the_order_of_the_servers() -> None:
    # Nothing listens on these ports.
    hosts = [f"127.0.0.1:{port}" for port in range(1, 21)]
    answers = query_servers(clients_of({"hosts": hosts}))
    assert [answer.label for answer in answers] == [f"ClickHouse at {host}" for host in hosts]
    assert all(
        answer.problem == f"{answer.label} cannot be reached: Connection refused" for answer in answers
    )
    assert all(answer.replicas == () for answer in answers)
