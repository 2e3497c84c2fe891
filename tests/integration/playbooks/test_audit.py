# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook audit.yml on real ensembles: what it tells, writes, and ends with."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun, run_playbook
from support.ansible.modules import Pair
from support.ansible.role_runs import changed, summary
from support.exposition import parsed
from support.html_page import SCRIPT, Page, check_page
from support.memory.tables import Table, TableOptions, build_table, days, register

FIRST, *_OTHERS = days(3)
PASSWORD = "Tr0ub4dor-and-3"
FILES = ("json", "metrics", "page")
UNFINISHED = "has not ended"
"""What a page says during the next run, and after one that failed."""


class Audits:
    """Runs of the playbook for tables below a path of their own."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.files = {name: pair.folder / f"audit.{name}" for name in FILES}

    def run(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run it as a user does: ensembles from a file. No server listens at the port of ClickHouse."""
        given = {
            **self.pair.options,
            "clickhouse": {
                "port": 9,
                "password": PASSWORD,
                "endpoints": {"r1": "127.0.0.1", "r2": "127.0.0.1"},
            },
            "root": self.pair.base,
            **{name: str(path) for name, path in self.files.items()},
            **variables,
        }
        extra = self.pair.folder / "vars.json"
        extra.write_text(json.dumps({f"partmove_audit_{name}": value for name, value in given.items()}))
        playbook = self.pair.folder / "site.yml"
        playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.audit"}]))
        return run_playbook(playbook, "-e", f"@{extra}", *options)

    def written(self) -> list[Path]:
        """The files that are there."""
        return [path for path in self.files.values() if path.exists()]


@pytest.fixture
def audits(pair: Pair) -> Audits:
    pair.hot.ensure_path(pair.base)
    return Audits(pair)


def test_a_root_without_tables_fails_the_run_and_is_not_complete(audits: Audits) -> None:
    """A wrong root or chroot must not answer every night that all is consistent."""
    run = audits.run()
    assert run.status == 2
    why = "There is no replicated table at or below it in the hot ensemble"
    assert summary(run)[1].startswith(f"not audited: {audits.pair.base}: {why}")
    metrics = parsed(audits.files["metrics"].read_text())
    assert metrics["partmove_audit_complete"] == {(): 0}
    assert "Incomplete" in Page(audits.files["page"].read_text()).words


def test_a_sound_cluster(audits: Audits) -> None:
    # Without a replica no server has to be asked.
    build_table(audits.pair.hot, f"{audits.pair.base}/hits", TableOptions(replicas=(), partitions=()))
    checked = audits.run("--check")
    assert changed(checked) == 0
    assert audits.written() == []

    run = audits.run()
    assert changed(run) == 0
    assert summary(run) == [
        "Shard paths: 1; partitions of replicas: 0 consistent, 0 inconsistent, 0 not judged"
    ]
    result = json.loads(audits.files["json"].read_text())
    assert (result["drifted"], result["complete"], result["findings"]) == (False, True, [])
    metrics = audits.files["metrics"].read_text()
    assert metrics == result["metrics"]
    assert parsed(metrics)["partmove_audit_complete"] == {(): 1}
    page = audits.files["page"].read_text()
    check_page(page, SCRIPT)
    assert "Consistent" in Page(page).words
    assert [stat.S_IMODE(path.stat().st_mode) for path in audits.written()] == [0o644] * 3
    assert not any(path.name.startswith(".ansible_tmp") for path in audits.pair.folder.iterdir())

    assert UNFINISHED not in page
    assert "next audit due by" in page
    failed = audits.run(shard_paths=["no path"], root=None)
    assert failed.status == 2
    assert UNFINISHED in audits.files["page"].read_text()
    assert changed(audits.run(due_hours=0)) == 0
    page = audits.files["page"].read_text()
    assert UNFINISHED not in page
    assert "due by" not in page


def test_drift_fails_the_run_once_all_is_written(audits: Audits) -> None:
    pair = audits.pair
    gone = Table(pair.hot, f"{pair.base}/gone{{{{ 7 * 7 }}}}<b>")
    register(pair.cold, gone, "r1", [FIRST])
    before = pair.trees()

    run = audits.run()
    assert run.status == 2
    assert "another_replica 1: cold has part znodes of a replica" in summary(run)[1]
    (finding,) = json.loads(audits.files["json"].read_text())["findings"]
    assert (finding["shard_path"], finding["kind"], finding["parts"]) == (
        gone.path,
        "another_replica",
        gone.part_names(FIRST),
    )
    drift = parsed(audits.files["metrics"].read_text())["partmove_audit_drift"]
    assert drift[("shard_path", gone.path), ("kind", "another_replica")] == 1
    page = audits.files["page"].read_text()
    check_page(page, SCRIPT)
    assert gone.path in Page(page).words
    assert pair.trees() == before

    assert changed(audits.run(fail=False)) == 0


def test_a_server_that_is_silent_fails_the_run(audits: Audits, table: Table) -> None:
    run = audits.run(root=None, shard_paths=[table.path], json="")
    assert run.status == 2
    assert "0 consistent, 0 inconsistent, 6 not judged" in summary(run)[0]
    assert "ClickHouse at 127.0.0.1:9" in summary(run)[1]
    assert PASSWORD not in run.output
    assert audits.written() == [audits.files["metrics"], audits.files["page"]]
    assert parsed(audits.files["metrics"].read_text())["partmove_audit_complete"] == {(): 0}


def test_what_is_to_be_audited_has_to_be_said(audits: Audits) -> None:
    run = audits.run(root=None)
    assert run.status != 0
    assert "Give exactly one of partmove_audit_root and partmove_audit_shard_paths." in run.output
