# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that modules share. The documentation of these options is in plugins/doc_fragments."""

from __future__ import annotations

from typing import Any

COORDINATION_ROOT: dict[str, Any] = {"type": "str", "default": "/partmove"}
LOCK_WAIT: dict[str, Any] = {"type": "str", "default": "45s"}

PROGRESS_FILE: dict[str, Any] = {"progress_file": {"type": "path"}}
LATENCY_TARGET: dict[str, Any] = {"latency_target": {"type": "float", "default": 0.005}}
LOAD: dict[str, Any] = {
    **LATENCY_TARGET,
    "max_latency": {"type": "float", "default": 1.0},
    "give_up_after": {"type": "str", "default": "10m"},
    **PROGRESS_FILE,
}
PARTS_PER_SECOND: dict[str, Any] = {"max_parts_per_second": {"type": "int", "default": 0}}
MAX_LISTED: dict[str, Any] = {"max_listed": {"type": "int", "default": 1000}}

PARTITIONS: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "options": {
        "shard_path": {"type": "str", "required": True},
        "partition": {"type": "str", "required": True},
    },
}
MOVES: dict[str, Any] = {
    "state": {"type": "str", "choices": ["cold", "hot", "COLD", "HOT"], "default": "cold"},
    "plan": {"type": "path"},
    "partitions": PARTITIONS,
    "shard_paths": {"type": "list", "elements": "str"},
    "share": {"type": "str", "default": "1/1"},
    "min_age": {"type": "str", "default": "1d"},
    "fail_when_deferred_by": {"type": "list", "elements": "str", "default": []},
    "journal": {"type": "path"},
    "lock_wait": LOCK_WAIT,
    "workers": {"type": "int", "default": 0},
    **LOAD,
    **PARTS_PER_SECOND,
    **MAX_LISTED,
}
"""Options of the modules that move partitions, in either way."""

TWIN: dict[str, Any] = {"twin": {"type": "str", "default": "{table}_cold"}}
TWIN_PLACES: dict[str, Any] = {
    "ensemble": {"type": "str", "default": "cold"},
    "path": {"type": "str", "default": "{path}_cold"},
}


def ensemble(*, required: bool = True) -> dict[str, Any]:
    """Return the option that describes an ensemble: addresses, timeouts, login and TLS."""
    return {
        "type": "dict",
        "required": required,
        "options": {
            "hosts": {"type": "list", "elements": "str", "required": True},
            "chroot": {"type": "str", "default": ""},
            "session_timeout": {"type": "float", "default": 30.0},
            "connect_timeout": {"type": "float", "default": 15.0},
            "operation_timeout": {"type": "float", "default": 60.0},
            "members_complete": {"type": "bool", "default": False},
            "auth": _auth(),
            "tls": _tls(),
        },
    }


def clickhouse(*, required: bool = False) -> dict[str, Any]:
    """Return the option that describes how to query the ClickHouse servers of the replicas."""
    return {
        "type": "dict",
        "required": required,
        "options": {**_http(), "endpoints": {"type": "dict", "default": {}}},
    }


def clickhouse_servers() -> dict[str, Any]:
    """Return the option that names ClickHouse servers one by one and describes how to query them."""
    return {
        "type": "dict",
        "options": {"hosts": {"type": "list", "elements": "str", "required": True}, **_http()},
    }


def clickhouse_server() -> dict[str, Any]:
    """Return the option that describes how to query one ClickHouse server."""
    return {
        "type": "dict",
        "apply_defaults": True,
        "options": {"host": {"type": "str", "default": "localhost"}, **_http()},
    }


def _http() -> dict[str, Any]:
    return {
        "port": {"type": "int", "default": 8123},
        "user": {"type": "str", "default": "default"},
        "password": {"type": "str", "default": "", "no_log": True},
        "secure": {"type": "bool", "default": False},
        "ca": {"type": "path"},
        "verify": {"type": "bool", "default": True},
        "timeout": {"type": "float", "default": 30.0},
    }


def _auth() -> dict[str, Any]:
    return {
        "type": "dict",
        "options": {
            "scheme": {
                "type": "str",
                "required": True,
                "choices": ["digest", "sasl_digest_md5", "sasl_gssapi"],
            },
            "credential": {"type": "str", "no_log": True},
            "service": {"type": "str", "default": "zookeeper"},
        },
    }


def _tls() -> dict[str, Any]:
    return {
        "type": "dict",
        "options": {
            "ca": {"type": "path"},
            "cert": {"type": "path"},
            "key": {"type": "path", "no_log": False},
            "key_password": {"type": "str", "no_log": True},
            "verify": {"type": "bool", "default": True},
            "check_hostname": {"type": "bool", "default": True},
        },
    }
