# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of an audit: what is on it, its colours, and how it is shown in a browser."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
import pytest
import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    Row,
    ShardAudit,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    TwinRow,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import (
    ManualCheck,
    TwinVerdict,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks import twin_audit_info
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_audit_info import result_of
from support.html_page import (
    HOSTILE,
    SCRIPT,
    SCRIPT_DIGEST,
    STYLE,
    Page,
    check_page,
    check_same_elements,
    low_contrasts,
    palettes,
)
from support.memory.twins import table_of
from support.servers.chromium import show

ROLE = Path(__file__).resolve().parents[4] / "roles" / "partmove_audit"
TEMPLATE = (ROLE / "templates" / "audit.html.j2").read_text(encoding="utf-8")
VARIABLES = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))
NUMBERS = {name: value for name, value in VARIABLES.items() if isinstance(value, int)}
MOST_ROWS = NUMBERS["partmove_audit__most_rows"]
UNSAFE = "DO NOT RESTART these servers"
DUE = "2026-11-23T07:00:00Z"


def page_of(*audits: ShardAudit) -> str:
    """The page as Ansible makes it, which escapes nothing by itself."""
    return rendered(result_of(audits, now=0.0))


def rendered(result: dict[str, Any], due: str = DUE) -> str:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(TEMPLATE).render(
        partmove_audit_result=result,
        partmove_audit__style=STYLE,
        partmove_audit__script=SCRIPT,
        partmove_audit__script_digest=SCRIPT_DIGEST,
        partmove_audit__as_of="2026-11-22T07:00:00Z",
        partmove_audit__due=due,
        partmove_audit_hot={"hosts": ["zk1:2181", "zk2:2181"], "chroot": "/apps"},
        partmove_audit_cold={"hosts": ["coldzk1:2181"]},
        **NUMBERS,
    )


def page_of_twins(name: str = "", *kinds: TwinKind) -> str:
    """A page about a table and its twin, with a partition of each kind, and a name in all places."""
    path, part = f"/clickhouse/tables/01/hits{name}", f"201912_0_27_5{name}"
    hot, cold = (table_of(side, "r1")._replace(name=f"{side.value}{name}") for side in Side)
    tables = TwinTables(TwinReplica("r1", ""), "ch1", hot, cold)
    check = ManualCheck({Side.HOT: (part,), Side.COLD: (part,)}, ((Side.HOT, part),))
    rows = (
        TwinRow(
            path,
            str(number),
            f"r1{name}" * (number % 2),
            TwinVerdict(kind, (part,), f"it{name}", "/r", check),
        )
        for number, kind in enumerate(kinds or TwinKind)
    )
    return rendered(twin_audit_info.result_of([TwinAudit(path, tuple(rows), tables=tables)], 0.0))


def audit(
    path: str, *rows: tuple[str, str, Verdict], hosts: Mapping[str, str] = MappingProxyType({})
) -> ShardAudit:
    return ShardAudit(path, tuple(Row(path, *row) for row in rows), hosts=hosts)


def every_kind(path: str) -> ShardAudit:
    return audit(
        path,
        *(
            (f"2019{number:02}", f"r{1 + number % 3}", Verdict(kind, (f"2019{number:02}_0_27_5",)))
            for number, kind in enumerate(FindingKind, start=1)
        ),
    )


def large(name: str = "") -> str:
    """A page that has everything, with a name in all places that have names."""
    parts = tuple(f"201912_{number}_{number}_0{name}" for number in range(9))
    reason = f"ClickHouse at ch2.example:8123 cannot be reached: timed out{name}. Start it."
    busy = audit(
        f"/clickhouse/tables/01/visits{name}",
        *(
            (f"{number:06}", f"r1{name}", Verdict(FindingKind.NOT_JUDGED, (), reason))
            for number in range(MOST_ROWS + 50)
        ),
        (f"201912{name}", f"r2{name}", Verdict(FindingKind.SET_ASIDE, parts, blocks_start=True)),
        (
            "",
            f"r2{name}",
            Verdict(FindingKind.UNREADABLE, (f"/clickhouse/tables/01/visits/replicas/r2/parts/lock{name}",)),
        ),
    )
    unjudged = ShardAudit(f"/clickhouse/tables/02/hits{name}", (), f"Runs meet elsewhere{name}.")
    return page_of(every_kind(f"/clickhouse/tables/01/hits{name}"), busy, unjudged)


def test_page_names_its_ensembles_the_command_of_a_repair_and_where_tables_are() -> None:
    text = large()
    words = Page(text).words
    assert "Audit of partitions of zk1:2181, zk2:2181/apps, 2026-11-22" in words
    assert "coldzk1:2181" in words
    command = "ansible-playbook olap.partmove.repair -e @vars.yml -e partmove_repair_kind={} --check"
    assert command.format("unregistered") in words
    # No module repairs it.
    assert command.format("unlike_disk") not in words
    links = [each["href"] for each in Page(text).named("a")]
    assert links == ["#path1", "#path2"]
    assert {each.get("id") for each in Page(text).named("h2")} > {each[1:] for each in links if each}
    assert "<nav" not in page_of(every_kind("/clickhouse/tables/01/hits"))


def test_page_needs_nothing_else_and_says_what_it_is() -> None:
    for text in (large(), page_of()):
        check_page(text, SCRIPT)


def test_names_are_text_whatever_is_in_them() -> None:
    hostile = large(HOSTILE)
    check_same_elements(hostile, large())
    words = Page(hostile).words
    for name in ("/clickhouse/tables/01/hits", "/clickhouse/tables/02/hits", "201912", "201912_0_0_0", "r2"):
        assert f"{name}{HOSTILE}" in words
    assert hostile.count("<script>") == 1


def test_every_kind_that_was_found_is_told_with_its_way_out() -> None:
    text = " ".join(Page(large()).words)
    for kind in FindingKind:
        assert (f"{kind.means[1:]}." in text) is not kind.is_consistent
        assert kind.is_consistent or f"{kind.remedy}." in text


def test_what_must_not_be_restarted_comes_first() -> None:
    words = Page(large()).words
    assert words[words.index("Audit of partitions") + 2] == "Do not restart"
    assert words.index(UNSAFE) < words.index("Consistent")


def test_servers_that_must_not_be_restarted_are_named_by_their_hosts() -> None:
    lost = Verdict(FindingKind.UNREGISTERED)
    page = page_of(
        audit("/01/hits", ("1", "r1", lost), ("1", "r2", lost), hosts={"r1": "ch-1", "r2": "ch-2"}),
        audit("/02/hits", ("1", "r1", lost), hosts={"r1": "ch-3", "r2": "ch-4"}),
        audit("/02/visits", ("1", "r1", lost), hosts={"r1": "ch-3"}),
        audit("/03/visits", ("1", "r9", lost)),
    )
    items = re.findall(r"<li><strong>(.*?)</strong>: (.*?)</li>", page)
    assert items == [
        ("unknown host", "r9 of <code>/03/visits</code>"),
        ("ch-1", "r1 of <code>/01/hits</code>"),
        ("ch-2", "r2 of <code>/01/hits</code>"),
        ("ch-3", "r1 of <code>/02/hits</code>, r1 of <code>/02/visits</code>"),
    ]


SEARCH = """
const box = document.getElementById("findings-search");
const tables = [...document.querySelectorAll("table.findings")];
const shown = () => tables.map((each) => {
  const count = [...each.tBodies[0].rows].filter((row) => !row.hidden).length;
  const folded = each.closest("details");
  return each.closest("section").hidden ? "-" : folded && !folded.open ? `(${count})` : `${count}`;
}).join(" ");
const found = [box.parentNode.hidden, shown()];
for (const words of ["tables/01/visits set_aside", "ghost", "nowhere", ""]) {
  box.value = words;
  box.dispatchEvent(new Event("input"));
  found.push(shown(), box.parentNode.querySelector("output").textContent);
}
parent.document.body.dataset.told = found.join("; ");
"""


def test_many_findings_are_folded_and_can_be_searched(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    page.write_text(large(), encoding="utf-8")
    shown = show(page, tmp_path, width=390, height=800, scheme="light", script=SEARCH)
    assert shown.console == []
    assert shown.told is not None
    found = shown.told.split("; ")
    kinds = sum(not kind.is_consistent for kind in FindingKind)
    assert found == [
        "false",
        f"({kinds}) ({MOST_ROWS})",
        "- 1",
        f"1 of {kinds + MOST_ROWS}",
        "1 -",
        f"1 of {kinds + MOST_ROWS}",
        "- -",
        f"0 of {kinds + MOST_ROWS}",
        f"({kinds}) ({MOST_ROWS})",
        f"{kinds + MOST_ROWS} of {kinds + MOST_ROWS}",
    ]


def test_a_page_of_few_findings_is_not_folded() -> None:
    assert "<details>" not in page_of(every_kind("/01/hits"), every_kind("/02/hits"))


NOTICE = 'parent.document.body.dataset.told = document.querySelector("[data-due]").hidden;'


@pytest.mark.parametrize(("year", "hidden"), [("2000", "false"), ("2990", "true")])
def test_a_page_says_when_the_next_audit_is_overdue(tmp_path: Path, year: str, hidden: str) -> None:
    page = tmp_path / "audit.html"
    text = rendered(result_of([], now=0.0), f"{year}-01-01T00:00:00Z")
    page.write_text(text, encoding="utf-8")
    assert f"next audit due by {year}-01-01 00:00 UTC" in "".join(Page(text).words)
    assert show(page, tmp_path, width=390, height=800, scheme="light", script=NOTICE).told == hidden


def test_a_page_may_have_no_end() -> None:
    page = rendered(result_of([], now=0.0), "")
    assert "data-due=" not in page.partition("<script>")[0]
    assert "due by" not in page


def test_the_script_has_the_digest_that_pages_allow() -> None:
    assert b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode() == SCRIPT_DIGEST


def test_what_is_sound_has_no_findings_and_no_warning() -> None:
    words = Page(page_of(audit("/t", ("2019", "r1", Verdict(FindingKind.COLD))))).words
    assert "Part znodes, State and disks agree." in " ".join(words)
    assert UNSAFE not in words
    assert FindingKind.COLD.value not in words


@pytest.mark.parametrize(
    ("audits", "head"),
    [
        ([audit("/t", ("1", "r1", Verdict(FindingKind.GHOST)))], "Inconsistent"),
        ([audit("/t", ("1", "r1", Verdict(FindingKind.NOT_JUDGED, reason="away")))], "Incomplete"),
        ([ShardAudit("/t", (), "elsewhere")], "Incomplete"),
        ([audit("/t", ("1", "r1", Verdict(FindingKind.COPIES_LEFT, can_wait=True)))], "Consistent"),
        ([], "Incomplete"),
    ],
)
def test_what_it_is_all_in_all(audits: list[ShardAudit], head: str) -> None:
    assert (
        Page(page_of(*audits)).words[Page(page_of(*audits)).words.index("Audit of partitions") :][2] == head
    )


def test_an_audit_of_no_table_does_not_call_anything_consistent() -> None:
    assert "Nothing was judged: no table was found." in " ".join(Page(page_of()).words)


def test_a_finding_that_can_wait_is_counted_by_itself() -> None:
    rows = [
        ("1", "r1", Verdict(FindingKind.COPIES_LEFT, can_wait=True)),
        ("2", "r1", Verdict(FindingKind.GHOST)),
    ]
    text = " ".join(Page(page_of(audit("/t", *rows))).words)
    assert "Inconsistent 1 Can wait 1 Not judged 0" in " ".join(text.split())


def test_page_stays_small() -> None:
    text = large()
    assert len(text.encode()) < 150_000
    assert "52 more are in the result of the module." in text


def test_page_about_twins_tells_every_kind_with_what_a_person_may_do() -> None:
    page = page_of_twins()
    check_page(page, SCRIPT)
    text = " ".join(Page(page).words)
    for kind in TwinKind:
        assert (f"{kind.means[1:]}." in text) is not kind.is_consistent
        assert kind.is_consistent or f"{kind.remedy}." in text
    assert "ALTER TABLE db.hot DROP PART '201912_0_27_5'" in text
    assert "Readers of both tables may see rows of 8 partitions twice." in text
    assert UNSAFE not in text


def test_names_of_twins_are_text_whatever_is_in_them() -> None:
    check_same_elements(page_of_twins(HOSTILE), page_of_twins("x"))


def test_tables_and_twins_that_fit_together_are_sound() -> None:
    assert "Tables and their twins agree." in " ".join(Page(page_of_twins("", TwinKind.COLD)).words)


PALETTES = palettes()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    assert low_contrasts(PALETTES[scheme]) == {}
    assert {"stop-text", "drift-text", "open-text", "good-text"} <= PALETTES[scheme].keys()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 4200), (390, 7200)])
def test_page_fits_into_its_window(tmp_path: Path, width: int, height: int, scheme: str) -> None:
    """At the width of a laptop and of a phone; the screenshots stay in the folder of the test."""
    page = tmp_path / "audit.html"
    page.write_text(large(), encoding="utf-8")
    shown = show(page, tmp_path, width=width, height=height, scheme=scheme)
    assert (shown.inner_width, shown.console) == (width, [])
    assert shown.scroll_width <= width
    assert shown.background == PALETTES[scheme]["page"]
