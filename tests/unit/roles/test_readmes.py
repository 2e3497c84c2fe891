# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""README.md of each role, which Galaxy requires, says what its argument_specs.yml says."""

from __future__ import annotations

from pathlib import Path

import pytest

from role_readmes import GUIDES, readme

ROOT = Path(__file__).resolve().parents[3]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())


def test_every_role_has_a_guide() -> None:
    assert sorted(GUIDES) == ROLES


@pytest.mark.parametrize("role", ROLES)
def test_readme_is_made_from_the_argument_specs(role: str) -> None:
    text = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8")
    assert text == readme(role), "run `make generated`"


@pytest.mark.parametrize("role", ROLES)
def test_guide_of_a_role_is_there(role: str) -> None:
    guide = GUIDES[role]
    assert (ROOT / "playbooks" / f"{guide.playbook}.yml").is_file()
    assert f"{role}_" in (ROOT / "docs" / guide.page).read_text(encoding="utf-8")


def test_keys_defaults_and_entry_points_are_in_the_page() -> None:
    page = readme("clickhouse_node")
    assert "| `clickhouse_node_packages[].name` | Name of the package. | str | **needed** |" in page
    assert (
        "| `clickhouse_node_service` | The systemd service of the server. | str | `clickhouse-server` |"
        in page
    )
    assert "\n## Entry point `renew`\n" in page


def test_keys_of_a_second_ensemble_are_not_repeated() -> None:
    page = readme("part_move")
    assert page.count("`part_move_hot.hosts`") == 1
    assert "| `part_move_cold.…` | The same keys as of `part_move_hot`. | | |" in page
