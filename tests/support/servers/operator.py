# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An operator who runs playbooks for one table of real servers, as the pages of docs/patched say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml

from support.ansible.calls import PlaybookRun, run_playbook
from support.servers.replicated import ReplicatedTable
from support.servers.zookeeper import Ensemble
from support.source import ROOT

_YAML = re.compile(r"^ *```yaml\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


class Operator:
    """Runs playbooks of the collection for one table, as a user does."""

    def __init__(self, table: ReplicatedTable, hot: Ensemble, cold: Ensemble, folder: Path) -> None:
        self.ensembles: dict[str, dict[str, Any]] = {
            "hot": {"hosts": hot.connect_string.split(",")},
            "cold": {"hosts": cold.connect_string.split(",")},
        }
        endpoints = {name: f"127.0.0.1:{server.http_port}" for name, server in table.replicas.items()}
        self.clickhouse = {"endpoints": endpoints}
        self.folder = folder

    def play(self, playbook: str, role: str, variables: Mapping[str, Any], *options: str) -> PlaybookRun:
        """Run a playbook with the ensembles and servers of the table, and with more variables."""
        given = {**self.ensembles, "clickhouse": self.clickhouse}
        extra = self.folder / "vars.json"
        extra.write_text(json.dumps({f"{role}_{name}": value for name, value in given.items()}))
        site = self.folder / "site.yml"
        site.write_text(json.dumps([{"ansible.builtin.import_playbook": f"olap.partmove.{playbook}"}]))
        return run_playbook(site, "-e", f"@{extra}", "-e", json.dumps(variables), *options)


def url_of(table: ReplicatedTable, number: int) -> str:
    """Return the HTTP address at which one server of the table takes statements."""
    return f"http://127.0.0.1:{table.servers[number].http_port}"


def variables_of(page: str, table: ReplicatedTable) -> dict[str, Any]:
    """Return the last variables for `while_hot` on a page of docs/patched, adapted to this table.

    The shard path, the table name and the server addresses of the page are replaced by those of the table.
    """
    text = (ROOT / "docs" / "patched" / f"{page}.md").read_text(encoding="utf-8")
    block = [found for found in _YAML.findall(text) if "while_hot_statements" in found][-1]
    names = {
        "/clickhouse/tables/01/hits": table.path,
        "http://ch1:8123": url_of(table, 0),
        "http://ch2:8123": url_of(table, 1),
    }
    for name, real in names.items():
        block = block.replace(name, real)
    found: dict[str, Any] = yaml.safe_load(dedent(re.sub(r"\bhits", table.name, block)))
    return found
