# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Links of pages lead to the pages of the site that `make site` builds, and every page is in its contents."""

from __future__ import annotations

import pytest

from docs_site import ROOT, address_of, contents, with_addresses

_REPOSITORY = "https://example.com/partmove"


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("move.md", "/patched/move.md"),
        ("../README.md", "/index.md"),
        ("../internals/adr/", "/internals/adr/index.md"),
        ("../images/report.png", "/images/report.png"),
        ("../reference/schemas", f"{_REPOSITORY}/tree/main/docs/reference/schemas"),
        ("../../README.md", f"{_REPOSITORY}/blob/main/README.md"),
        ("../../tests", f"{_REPOSITORY}/tree/main/tests"),
        ("../../plugins/modules/part_move.py", "/reference/ansible/part_move_module.rst"),
        ("../../roles/zookeeper/README.md", "/reference/ansible/zookeeper_role.rst"),
        (
            "../../roles/zookeeper/defaults/main.yml",
            f"{_REPOSITORY}/blob/main/roles/zookeeper/defaults/main.yml",
        ),
    ],
)
def test_where_a_link_leads(target: str, address: str) -> None:
    assert address_of("patched/rollout.md", target, _REPOSITORY) == address


def test_anchors_and_other_sites_stay() -> None:
    text = "See [move](move.md#steps), [below](#steps) and [ZooKeeper](https://zookeeper.apache.org/doc)."
    assert with_addresses(text, "patched/rollout.md", _REPOSITORY) == (
        "See [move](/patched/move.md#steps), [below](#steps) and [ZooKeeper](https://zookeeper.apache.org/doc)."
    )


def test_sections_have_their_pages_and_those_of_their_folders() -> None:
    index = "# Documentation\n\n## First\n[b](b.md), [a](a.md)\n\n## Second\n[decisions](adr/), [b](b.md)\n"
    assert contents(index, ["README.md", "a.md", "adr/0001.md", "adr/README.md", "b.md"]) == (
        "```{toctree}\n:hidden:\n:caption: First\n\n/b\n/a\n```\n"
        "\n```{toctree}\n:hidden:\n:caption: Second\n\n/adr/index\n/adr/0001\n```\n"
        "\n```{toctree}\n:hidden:\n:caption: Modules and roles\n\n/reference/ansible/index\n```\n"
    )


def test_a_page_without_a_row_is_named() -> None:
    with pytest.raises(ValueError, match=r"docs/README\.md has no link to lost\.md: add a row"):
        contents("## First\n[a](a.md)\n", ["a.md", "lost.md"])


def test_the_documentation_has_a_row_for_every_page() -> None:
    docs = ROOT / "docs"
    pages = [str(page.relative_to(docs)) for page in sorted(docs.rglob("*.md"))]
    tables = contents((docs / "README.md").read_text(encoding="utf-8"), pages)
    assert "/patched/move\n" in tables
    assert all(
        tables.count(f"\n/{page.removesuffix('.md')}\n") == 1 for page in pages if "README" not in page
    )
