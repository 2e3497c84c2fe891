# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which parts of an ensemble a server does not show, by the marks in any file of its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.hidden import (
    HiddenParts,
    hidden_parts,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.local_files import ConfigFiles

NODE = "<node><host>c1</host></node>"
SECRET = '<identity hide_in_preprocessed="{}">u:p</identity>'


def parts(folder: Path, main: str, drop_in: str = "") -> HiddenParts:
    path = folder / "config.xml"
    path.write_text(f"<clickhouse>{main}</clickhouse>")
    if drop_in:
        (folder / "config.d").mkdir()
        (folder / "config.d" / "secret.xml").write_text(f"<clickhouse>{drop_in}</clickhouse>")
    return hidden_parts(Config(ConfigFiles(str(path))), "auxiliary_zookeepers/cold")


def element(content: str) -> str:
    return f"<auxiliary_zookeepers><cold>{content}</cold></auxiliary_zookeepers>"


@pytest.mark.parametrize(
    ("value", "hidden"), [("true", True), ("1", True), ("false", False), ("0", False), ("", False)]
)
def test_only_a_true_value_hides(value: str, *, hidden: bool, tmp_path: Path) -> None:
    found = parts(tmp_path, element(NODE + SECRET.format(value)))
    assert found == HiddenParts(settings=frozenset({"identity"} if hidden else ()))


def test_a_mark_in_a_merged_file_counts(tmp_path: Path) -> None:
    found = parts(tmp_path, element(NODE), element(SECRET.format("true")))
    assert found == HiddenParts(settings=frozenset({"identity"}))


@pytest.mark.parametrize("tag", ["node", "host"])
def test_a_member_or_a_part_of_one_is_hidden(tag: str, tmp_path: Path) -> None:
    marked = NODE.replace(f"<{tag}>", f'<{tag} hide_in_preprocessed="true">')
    assert parts(tmp_path, element(marked)) == HiddenParts(members=True)


def test_an_ensemble_that_is_not_configured_hides_nothing(tmp_path: Path) -> None:
    assert parts(tmp_path, "") == HiddenParts()
