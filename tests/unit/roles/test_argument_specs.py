# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a role says of its options is what its defaults are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())


@pytest.mark.parametrize("role", ROLES)
def test_every_option_is_described_with_its_default(role: str) -> None:
    options = _load(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    optional = {name: option for name, option in options.items() if not option.get("required")}
    assert {name: option.get("default") for name, option in optional.items()} == _load(
        role, "defaults/main.yml"
    )


@pytest.mark.parametrize("role", ROLES)
def test_every_option_has_the_name_of_the_role(role: str) -> None:
    assert [name for name in _load(role, "defaults/main.yml") if not name.startswith(f"{role}_")] == []


def _load(role: str, name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "roles" / role / name).read_text(encoding="utf-8"))
    return content
