# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks of a day are about replicas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from staging.day.config import Replica, read_replicas
from staging.day.final import wrong_rows


def test_a_check_of_no_replica_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"tables": []}))
    (tmp_path / "replicas.json").write_text("[]")
    with pytest.raises(ValueError, match="names no replica"):
        [*wrong_rows(tmp_path)]


def test_replicas_are_those_of_the_file(tmp_path: Path) -> None:
    replica = Replica("1", "ch-1-1", "127.0.0.1:8123")
    (tmp_path / "replicas.json").write_text(json.dumps([replica._asdict()]))
    assert read_replicas(tmp_path) == [replica]
