# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One client reads the answers of ClickHouse servers, because versions write an error in several places.

A playbook that sends a statement of the user reads the status alone, which is that of the whole answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
_HTTP = re.compile(
    r"^\s*(?:import|from) (?:http\.client|urllib\.request|requests)\b|\b(?:open|fetch)_url\b", re.MULTILINE
)
CLIENT = {"plugins/module_utils/_clickhouse/client.py", "plugins/module_utils/_clickhouse/query_errors.py"}


def test_one_client_reads_answers_over_http() -> None:
    sources = [path for folder in ("plugins", "roles") for path in (ROOT / folder).rglob("*.py")]
    found = {
        str(path.relative_to(ROOT))
        for path in sources
        if _HTTP.search(path.read_text(encoding="utf-8")) is not None
    }
    # The last one asks ZooKeeper.
    assert found == {*CLIENT, "roles/zookeeper/files/member_state.py"}


def requests_in(tasks: Any) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each task that sends a request, at any depth."""
    if isinstance(tasks, list):
        for each in tasks:
            yield from requests_in(each)
    elif isinstance(tasks, dict):
        for name, value in tasks.items():
            if name == "ansible.builtin.uri":
                yield value
            else:
                yield from requests_in(value)


def test_playbooks_ask_for_the_status_of_the_whole_answer() -> None:
    requests = [
        request
        for path in (ROOT / "playbooks").rglob("*.yml")
        for request in requests_in(yaml.safe_load(path.read_text(encoding="utf-8")))
    ]
    assert len(requests) == 3
    for request in requests:
        assert request["url"].endswith("}}wait_end_of_query=1")
        assert "status_code" not in request
