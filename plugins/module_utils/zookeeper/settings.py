# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings as people write them, in a playbook or in JSON.

All there are::

    {"hosts": ["zk1:2181"], "chroot": "",
     "session_timeout": 30, "connect_timeout": 15, "operation_timeout": 60,
     "auth": {"scheme": "digest", "credential": "user:password", "service": "zookeeper"},
     "tls": {"ca": "", "cert": "", "key": "", "key_password": "", "verify": true, "check_hostname": true}}

Only ``hosts`` has to be there. A setting that is None counts as not given; ``tls``, even empty, asks for TLS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..partmove.errors import EnsembleError
from .options import EnsembleOptions, TlsOptions

_Types: TypeAlias = "Mapping[str, type | tuple[type, ...]]"

_SECONDS = (int, float)
_CONNECTION: _Types = {
    "hosts": list,
    "chroot": str,
    "session_timeout": _SECONDS,
    "connect_timeout": _SECONDS,
    "operation_timeout": _SECONDS,
    "auth": dict,
    "tls": dict,
}
_AUTH: _Types = {"scheme": str, "credential": str, "service": str}
_AUTH_OPTIONS = {"scheme": "auth_scheme", "credential": "auth_credential", "service": "sasl_service"}
_TLS: _Types = {
    "ca": str,
    "cert": str,
    "key": str,
    "key_password": str,
    "verify": bool,
    "check_hostname": bool,
}


def options_of(name: str, settings: object) -> EnsembleOptions:
    """The options of the ensemble ``name``, hot or cold; raises EnsembleError for settings not understood."""
    given = _given(name, "", settings, _CONNECTION)
    hosts = given.pop("hosts", [])
    if not all(isinstance(host, str) for host in hosts):
        raise EnsembleError(
            f"The hosts of ensemble {name} are not a list of text",
            remedy="Name each of its members as host:port",
        )
    tls = given.pop("tls", None)
    auth = _given(name, "auth.", given.pop("auth", {}), _AUTH)
    return EnsembleOptions(
        name=name,
        hosts=tuple(hosts),
        tls=None if tls is None else TlsOptions(**_given(name, "tls.", tls, _TLS)),
        **{_AUTH_OPTIONS[key]: value for key, value in auth.items()},
        **given,
    )


def _given(name: str, prefix: str, settings: object, types: _Types) -> dict[str, Any]:
    """The settings that are not None. No message shows a value: it may be a secret."""
    if not isinstance(settings, Mapping):
        where = prefix.rstrip(".") or "connection settings"
        raise EnsembleError(
            f"The {where} of ensemble {name} are no mapping", remedy=f"Give some of {', '.join(types)}"
        )
    given = {key: value for key, value in settings.items() if value is not None}
    for key, value in given.items():
        if key not in types:
            raise EnsembleError(
                f"Unknown setting {prefix}{key} of ensemble {name}", remedy=f"Use {', '.join(types)}"
            )
        if not isinstance(value, types[key]) or (isinstance(value, bool) and types[key] is not bool):
            raise EnsembleError(
                f"Setting {prefix}{key} of ensemble {name} is of type {type(value).__name__}",
                remedy=f"Give {_said(types[key])}",
            )
    return given


def _said(kind: type | tuple[type, ...]) -> str:
    words = {list: "a list", dict: "a mapping", str: "text in quotes", bool: "true or false"}
    return "a number of seconds" if isinstance(kind, tuple) else words[kind]
