# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings: accepted and refused ones."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    EnsembleOptions,
    TlsOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.settings import options_of


def test_all_settings_become_options() -> None:
    settings = {
        "hosts": ["zk1:2281", "zk2"],
        "chroot": "/ch",
        "session_timeout": 10,
        "connect_timeout": 2.5,
        "operation_timeout": 20,
        "auth": {"scheme": "digest", "credential": "mover:x", "service": "zk"},
        "tls": {"ca": "/etc/ssl/certs", "verify": False, "check_hostname": False},
    }
    assert options_of("cold", settings) == EnsembleOptions(
        name="cold",
        hosts=("zk1:2281", "zk2"),
        chroot="/ch",
        session_timeout=10,
        connect_timeout=2.5,
        operation_timeout=20,
        auth_scheme="digest",
        auth_credential="mover:x",
        sasl_service="zk",
        tls=TlsOptions(ca="/etc/ssl/certs", verify=False, check_hostname=False),
    )


def test_settings_that_are_none_are_not_given() -> None:
    """Ansible passes unset options as None."""
    settings = {"hosts": ["zk1"], "chroot": None, "auth": {"scheme": None, "credential": None}, "tls": None}
    assert options_of("hot", settings) == EnsembleOptions("hot", ("zk1",))


def test_empty_tls_asks_for_tls() -> None:
    assert options_of("hot", {"hosts": ["zk1"], "tls": {}}).tls == TlsOptions()


def test_numbers_and_flags_may_be_text() -> None:
    """Templates of ansible-core before 2.19 return text for a number."""
    settings = {
        "hosts": ["zk1"],
        "session_timeout": "20",
        "connect_timeout": "2.5",
        "members_complete": "true",
        "tls": {"verify": "False", "check_hostname": "false"},
    }
    assert options_of("hot", settings) == EnsembleOptions(
        "hot",
        ("zk1",),
        session_timeout=20,
        connect_timeout=2.5,
        members_complete=True,
        tls=TlsOptions(verify=False, check_hostname=False),
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("zk1:2181", "Ensemble hot is of type str"),
        ({"hosts": "zk1:2181"}, "Ensemble hot: hosts is of type str"),
        ({"hosts": [2181]}, "Ensemble hot: hosts[0] is of type int"),
        ({}, "Ensemble hot has no hosts"),
        ({"hosts": ["zk1"], "port": 2181}, "Ensemble hot: port is not a known key"),
        ({"hosts": ["zk1"], "chroot": 1}, "Ensemble hot: chroot is of type int"),
        (
            {"hosts": ["zk1"], "session_timeout": True},
            "Ensemble hot: session_timeout is of type bool",
        ),
        (
            {"hosts": ["zk1"], "session_timeout": "half an hour"},
            "Ensemble hot: session_timeout is of type str",
        ),
        ({"hosts": ["zk1"], "auth": "digest"}, "Ensemble hot: auth is of type str"),
        ({"hosts": ["zk1"], "auth": {"user": "x"}}, "Ensemble hot: auth.user is not a known key"),
        ({"hosts": ["zk1"], "tls": {"verify": "no"}}, "Ensemble hot: tls.verify is of type str"),
        ({"hosts": ["zk1"], "tls": {"verify": 0}}, "Ensemble hot: tls.verify is of type int"),
    ],
)
def test_other_settings_are_refused(settings: object, message: str) -> None:
    with pytest.raises(EnsembleError) as refusal:
        options_of("hot", settings)
    assert refusal.value.message == message
    assert refusal.value.remedy


def test_no_message_shows_a_credential() -> None:
    settings = {"hosts": ["zk1"], "auth": {"scheme": "digest", "credential": ["mover:hunter2"]}}
    with pytest.raises(EnsembleError, match=r"^Ensemble hot: auth\.credential is of type list") as refusal:
        options_of("hot", settings)
    assert "hunter2" not in str(refusal.value)
