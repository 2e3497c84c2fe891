# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which files versions of ClickHouse read."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.dialects import (
    DIALECTS,
    MIDDLE,
    NEWEST,
    OLDEST,
    are_equal_roots,
    is_yaml,
)


def test_which_files_are_yaml() -> None:
    names = ("a.yaml", "a.yml", "A.YML", "a.xml", "yaml")
    assert [is_yaml(name) for name in names] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("name", "readers"),
    [
        ("a.xml", (OLDEST, MIDDLE, NEWEST)),
        ("a.conf", (OLDEST, MIDDLE, NEWEST)),
        ("Z.XML", (MIDDLE, NEWEST)),
        ("a.yaml", (MIDDLE, NEWEST)),
        ("a.xml.bak", ()),
    ],
)
def test_which_files_are_merged(name: str, readers: tuple[object, ...]) -> None:
    assert tuple(each for each in DIALECTS if each.reads(f"/etc/config.d/{name}")) == readers


@pytest.mark.parametrize(
    ("path", "root", "count"),
    [("c.xml", "yandex", 3), ("c.xml", "company", 3), ("c.xml", "clickhouse", 2), ("c.yaml", "yandex", 2)],
)
def test_which_versions_a_configuration_is_for(path: str, root: str, count: int) -> None:
    assert sum(each.may_load(path, root) for each in DIALECTS) == count


def test_the_two_roots_of_clickhouse_are_equal() -> None:
    assert are_equal_roots("yandex", "clickhouse")
    assert are_equal_roots("company", "company")
    assert not are_equal_roots("company", "clickhouse")
