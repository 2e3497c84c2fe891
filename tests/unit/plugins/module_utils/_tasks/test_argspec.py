# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that modules share have the defaults and choices of the code."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    AUTH_SCHEMES,
    EnsembleOptions,
    TlsOptions,
)


def defaults_of(kind: type[Any]) -> dict[str, Any]:
    """Field → default of a dataclass."""
    return {
        each.name: each.default_factory() if each.default_factory is not MISSING else each.default
        for each in fields(kind)
    }


ENSEMBLE = argspec.ensemble()["options"]
SERVER = argspec.clickhouse_server()["options"]


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (
            {name: ENSEMBLE[name] for name in ENSEMBLE if name not in ("hosts", "auth", "tls")},
            EnsembleOptions,
        ),
        (ENSEMBLE["tls"]["options"], TlsOptions),
        (argspec.clickhouse()["options"], ClickHouseOptions),
        ({name: SERVER[name] for name in SERVER if name != "host"}, ClickHouseOptions),
    ],
    ids=["ensemble", "tls", "clickhouse", "server"],
)
def test_defaults_are_those_of_the_code(spec: dict[str, Any], kind: type[Any]) -> None:
    of_code = defaults_of(kind)
    assert spec.keys() <= of_code.keys()
    for name, option in spec.items():
        # An option without a default is left out, and the code's own empty one counts.
        assert option.get("default", "") == of_code[name], name


def test_options_inside_another_option() -> None:
    auth = ENSEMBLE["auth"]["options"]
    assert tuple(auth["scheme"]["choices"]) == AUTH_SCHEMES
    assert auth["service"]["default"] == defaults_of(EnsembleOptions)["sasl_service"]
    assert argspec.COORDINATION_ROOT["default"] == DEFAULT_ROOT


@pytest.mark.parametrize(
    "spec",
    [argspec.ensemble(), argspec.clickhouse(), argspec.clickhouse_server()],
    ids=["ensemble", "clickhouse", "server"],
)
def test_every_secret_is_kept_from_the_logs(spec: dict[str, Any]) -> None:
    secrets = {
        name: option for name, option in options_of(spec) if "password" in name or name == "credential"
    }
    assert secrets
    assert all(option["no_log"] for option in secrets.values())


def options_of(spec: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every option at any depth."""
    found = []
    for name, option in spec["options"].items():
        found.append((name, option))
        if "options" in option:
            found += options_of(option)
    return found
