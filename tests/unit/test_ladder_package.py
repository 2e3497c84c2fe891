# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which versions of the ladder become packages. The scenario day_twin installs and upgrades them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.servers.downloads import NotToBeHad
from support.servers.ladder.package import build_package


def test_a_version_without_a_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotToBeHad, match=r"is no server: use 24\.5 or later"):
        build_package("22.12", tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no server of ClickHouse 1\.1"):
        build_package("1.1", tmp_path)
