# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a repair of all kinds: what it says before, meanwhile and at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    Row,
    ShardAudit,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.details import RowDetails
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_audit_info import result_of
from support.html_page import HOSTILE, STYLE, Page, check_page, check_same_elements, palettes
from support.servers.chromium import show

ROLE = Path(__file__).resolve().parents[4] / "roles" / "partmove_repair"
TEMPLATE = (ROLE / "templates" / "repair.html.j2").read_text(encoding="utf-8")
PATH = "/clickhouse/tables/01/hits"
UNSAFE = "DO NOT RESTART these servers"


def audit(*kinds: FindingKind, name: str = "", others: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the result of an audit with a partition of each kind, and a name in all places."""
    path = f"{PATH}{name}"
    details = RowDetails((f"SELECT 1{name}",), znodes=3, seconds_needed=540.0)
    rows = (
        Row(path, f"2019{number:02}", f"r1{name}", Verdict(kind, (f"2019{name}",)), details)
        for number, kind in enumerate(kinds)
    )
    return result_of([ShardAudit(path, tuple(rows), written_by_another=others, seconds=1.5)], now=0.0)


def page(before: dict[str, Any], now: dict[str, Any], **variables: Any) -> str:
    """Return the page as Ansible makes it, which escapes nothing by itself."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
    known = {
        "partmove_repair__first": {"begun": "2026-11-22T06:00:00Z", "runs": 1, "before": before},
        "partmove_repair__audit": now,
        "partmove_repair__planned": before["repair_order"],
        "partmove_repair__page_repaired": {"ghost": 2},
        "partmove_repair__page_finished": False,
        "partmove_repair__is_over": True,
        "partmove_repair__left": [],
        "partmove_repair__failed": [],
        "partmove_repair__took": {},
        "partmove_repair_max_shown": 20,
        "partmove_repair__style": STYLE,
        "partmove_repair__as_of": "2026-11-22T07:00:00Z",
    }
    return environment.from_string(TEMPLATE).render({**known, **variables})


def large(name: str = "") -> str:
    """Return a page that has everything, with a name in all places that have names."""
    found = audit(*FindingKind, name=name, others=(f"201901{name}",))
    row = {"shard_path": f"{PATH}{name}", "reason": f"away{name}", "remedy": f"Start it{name}"}
    left = [{**row, "partition": f"201912{name}", "kind": "ghost"}] * 30
    unjudged = {**found, "unjudged": [{"shard_path": f"/t{name}", "reason": f"elsewhere{name}"}]}
    took = {"ghost": 3.9}
    return page(
        found, unjudged, partmove_repair__left=left, partmove_repair__failed=[row], partmove_repair__took=took
    )


def test_the_page_needs_nothing_else_and_says_what_it_is() -> None:
    check_page(large())
    check_page(page(audit(), audit()))


def test_names_are_text_whatever_is_in_them() -> None:
    hostile = large(HOSTILE)
    check_same_elements(hostile, large())
    text = " ".join(Page(hostile).words)
    for words in (PATH, "201912", "away", "Start it", "SELECT 1", "/t", "elsewhere"):
        assert f"{words}{HOSTILE}" in text
    assert hostile.count("<script") == 0


SOUND = audit(FindingKind.COLD)
LEFT = audit(FindingKind.GHOST)


@pytest.mark.parametrize(
    ("now", "variables", "head"),
    [
        (SOUND, {"partmove_repair__page_finished": True}, "Finished"),
        (LEFT, {"partmove_repair__is_over": False}, "Under way"),
        (LEFT, {}, "Not finished"),
        (
            SOUND,
            {"partmove_repair__failed": [{"shard_path": "/t", "reason": "a", "remedy": "b"}]},
            "Not finished",
        ),
        (audit(FindingKind.NOT_JUDGED), {}, "Not finished"),
        ({**SOUND, "complete": False}, {}, "Incomplete"),
        (audit(FindingKind.COPIES_NEEDED), {}, "Waiting"),
    ],
)
def test_how_far_the_repair_is(now: dict[str, Any], variables: dict[str, Any], head: str) -> None:
    words = Page(page(LEFT, now, **variables)).words
    assert words[words.index("Repair of partitions") :][2] == head


def test_before_and_now_stand_side_by_side() -> None:
    text = page(audit(FindingKind.GHOST, FindingKind.GHOST), SOUND)
    words = [word for word in Page(text).words if word.strip()]
    place = words.index("ghost")
    assert words[place : place + 4] == ["ghost", "2", "0", "2"]
    assert "Run 2 of" not in text
    assert "2 runs" in text


def test_the_plan_has_its_estimate_and_what_it_took() -> None:
    words = [word for word in Page(large()).words if word.strip()]
    plan = words[words.index("The plan of this run") :]
    place = plan.index("ghost")
    assert plan[place : place + 7] == ["ghost", "1", "1", "1", "3", "4.5 s", "3.9 s"]
    assert plan[plan.index("lacks_data") + 5] == "manual action"


def test_what_must_not_be_restarted_comes_first_and_goes() -> None:
    unsafe = audit(FindingKind.UNREGISTERED)
    words = Page(page(unsafe, unsafe)).words
    assert words.index(UNSAFE) < words.index("Findings before")
    assert UNSAFE not in Page(page(unsafe, SOUND)).words


def test_copies_that_wait_say_for_how_long() -> None:
    waiting = audit(FindingKind.COPIES_NEEDED)
    assert "Run again in 540 s." in page(LEFT, waiting)
    inactive = {**waiting, "waiting_copies": {"partitions": 1, "seconds": None}}
    assert "A replica is inactive: run again once it is active." in page(LEFT, inactive)


def test_the_page_stays_small() -> None:
    assert len(large().encode()) < 100_000
    assert large().count("away") == 21


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 4200), (390, 9000)])
def test_the_page_fits_into_its_window(tmp_path: Path, width: int, height: int, scheme: str) -> None:
    """At the width of a laptop and of a phone; the screenshots stay in the folder of the test."""
    file = tmp_path / "repair.html"
    file.write_text(large(), encoding="utf-8")
    shown = show(file, tmp_path, width=width, height=height, scheme=scheme)
    assert (shown.inner_width, shown.console) == (width, [])
    assert shown.scroll_width <= width
    assert shown.background == palettes()[scheme]["page"]
