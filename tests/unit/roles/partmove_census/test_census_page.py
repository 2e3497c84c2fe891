# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a census: what is on it, its colours, and how it is shown in a browser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import jinja2
import pytest
import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import AdviceKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.report import result_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.servers import ServerAnswer
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import CensusLimits
from support.html_page import (
    HOSTILE,
    SCRIPT,
    SCRIPT_DIGEST,
    STYLE,
    Page,
    check_page,
    check_same_elements,
    contrast,
    low_contrasts,
    palettes,
)
from support.memory.censuses import NOW, SHARD, ZnodeTree, plain_tree
from support.servers.chromium import show

ROLE = Path(__file__).resolve().parents[4] / "roles" / "partmove_census"
TEMPLATE = (ROLE / "templates" / "census.html.j2").read_text(encoding="utf-8")
VARIABLES = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))
MOST_ROWS = VARIABLES["partmove_census__most_rows"]
# A name of a znode has no slash.
HOSTILE_NAME = HOSTILE.replace("/", "\\")


def page_of(tree: ZnodeTree, answers: list[ServerAnswer] | None = None, denied: Sequence[str] = ()) -> str:
    """The page as Ansible makes it, which escapes nothing by itself."""
    census = tree.census()
    for path in denied:
        census.deny(path)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["unique"] = lambda items: list(dict.fromkeys(items))
    return environment.from_string(TEMPLATE).render(
        partmove_census_result=result_of(census, CensusLimits(), NOW, answers),
        partmove_census__most_rows=MOST_ROWS,
        partmove_census__style=STYLE,
        partmove_census__script=SCRIPT,
        partmove_census__script_digest=SCRIPT_DIGEST,
        partmove_census__due="2026-11-29T07:00:00Z",
        partmove_census_hot={"hosts": ["zk1:2181", "zk2:2181"], "chroot": "/apps"},
    )


def large(name: str = "") -> ZnodeTree:
    """Everything that a page may have, with a name in all places that have names."""
    path = f"/clickhouse/tables/02/hits{name}"
    tree = plain_tree().add_part("20191202_0_0_0", legacy=True)
    tree.add_table(path).add_replica("r1", path).add_replica(f"r3{name}", path, active=False, days=30)
    tree.add(f"{path}/block_numbers/2019{name}", days=99).add(f"{path}/mutations/0000000001", days=9)
    tree.add(f"{path}/new_thing{name}/x").add(f"/kafka{name}/brokers")
    for number in range(MOST_ROWS + 5):
        tree.add(f"{path}/replicas/r1/queue/queue-{number:010}", days=9)
        tree.add(f"/other{number:03}")
    return tree


def test_sizes_have_the_units_of_the_report() -> None:
    page = page_of(large())
    assert re.search(r"\d (B|KiB)<", page)
    assert "Byte" not in page.replace(">Bytes<", "").replace('"Bytes"', "")


def test_gain_by_age_comes_first() -> None:
    tree = plain_tree().add_part("20191202_1_1_0", days=40).add_part("20191203_1_1_0", days=100)
    words = " ".join("".join(Page(page_of(tree)).words).split())
    assert "the most that moves of cold partitions can take out: 30 days 2 (" in words
    assert words.index(", 90 days 1 (") < words.index(", 365 days 0 (0.0 %).") < words.index("As of")


def test_page_names_its_ensemble() -> None:
    assert "What fills the ensemble zk1:2181, zk2:2181/apps, 20" in page_of(ZnodeTree())


def test_page_needs_nothing_else_and_says_what_it_is() -> None:
    for tree in (large(), plain_tree(), ZnodeTree().add("/")):
        check_page(page_of(tree), SCRIPT)


def test_names_are_text_whatever_is_in_them() -> None:
    hostile = page_of(large(HOSTILE_NAME))
    check_same_elements(hostile, page_of(large()))
    words = Page(hostile).words
    for name in ("/clickhouse/tables/02/hits", "r3", "new_thing", "/kafka"):
        assert f"{name}{HOSTILE_NAME}" in words
    assert hostile.count("<script>") == 1


def test_advice_is_told_with_its_way_out_and_statements() -> None:
    words = " ".join(Page(page_of(large())).words)
    for kind in (AdviceKind.LEGACY_HEADERS, AdviceKind.REPLICA_WITHOUT_SESSION, AdviceKind.LONG_QUEUE):
        assert f"{kind.means[1:]}" in words
        assert f"{kind.remedy}." in words
    assert "KILL MUTATION WHERE database = '…' AND table = '…' AND mutation_id = '0000000001'" in words
    # No server was queried.
    assert "SYSTEM DROP REPLICA 'r3'" not in words
    assert "No statement is given. No server was queried." in words


def test_a_tree_without_advice_says_so() -> None:
    words = Page(page_of(plain_tree())).words
    assert "Nothing" in words
    assert "Not of tables" not in words


def test_what_asking_servers_came_to_is_told() -> None:
    words = " ".join(Page(page_of(plain_tree())).words)
    assert "and no server was queried" in words
    silent = [ServerAnswer("ch1", problem=f"ch1 is silent{HOSTILE_NAME}")]
    words = " ".join(Page(page_of(plain_tree(), silent)).words)
    assert "tables on no server were not judged." in words
    assert f"1 of 1 server did not answer. ch1 is silent{HOSTILE_NAME}" in words
    answers = [ServerAnswer("ch1", [(SHARD, "r1"), (SHARD, "r2")])]
    words = " ".join(Page(page_of(plain_tree(), answers)).words)
    assert "1 server queried: tables on no server were judged by their system.replicas." in words
    assert "no server was queried" not in words


def test_unreadable_znodes_are_shown() -> None:
    assert "may not be read" not in " ".join(Page(page_of(plain_tree())).words)
    secret = f"/kafka{HOSTILE_NAME}"
    text = page_of(plain_tree(), denied=[secret, f"{SHARD}/log"])
    harmless = page_of(plain_tree(), denied=["/kafka", f"{SHARD}/log"])
    check_same_elements(text, harmless)
    check_page(harmless, SCRIPT)
    words = " ".join(" ".join(Page(text).words).split())
    assert "Not complete: 2 znodes not readable. These znodes and their descendants are not counted" in words
    assert "1 table could not be judged for this reason" in words
    assert f"{SHARD}/log" in words
    assert secret in words
    many = " ".join(Page(page_of(plain_tree(), denied=[f"/n{each:04}" for each in range(999)])).words)
    assert "and more in the result of the module" in many
    assert "/n0998" not in many


def test_page_stays_small() -> None:
    text = page_of(large())
    assert len(text.encode()) < 100_000
    assert "6 more are in the result of the module." in text


PALETTES = palettes()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_bars_can_be_seen(scheme: str) -> None:
    palette = PALETTES[scheme]
    assert low_contrasts(palette) == {}
    for ground in ("card", "track"):
        assert contrast(palette["accent"], palette[ground]) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 4200), (390, 7200)])
def test_page_fits_into_its_window(tmp_path: Path, width: int, height: int, scheme: str) -> None:
    """At the width of a laptop and of a phone; the screenshots stay in the folder of the test."""
    page = tmp_path / "census.html"
    page.write_text(page_of(large("-of-a-table-with-a-name-that-is-long")), encoding="utf-8")
    shown = show(page, tmp_path, width=width, height=height, scheme=scheme)
    assert (shown.inner_width, shown.console) == (width, [])
    assert shown.scroll_width <= width
    assert shown.background == PALETTES[scheme]["page"]
