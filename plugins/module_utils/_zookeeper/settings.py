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

from typing import Any

from .._partmove.errors import EnsembleError
from .._partmove.settings import SECONDS, Types, given_settings
from .options import EnsembleOptions, TlsOptions

_CONNECTION: Types = {
    "hosts": list,
    "chroot": str,
    "session_timeout": SECONDS,
    "connect_timeout": SECONDS,
    "operation_timeout": SECONDS,
    "auth": dict,
    "tls": dict,
}
_AUTH: Types = {"scheme": str, "credential": str, "service": str}
_AUTH_OPTIONS = {"scheme": "auth_scheme", "credential": "auth_credential", "service": "sasl_service"}
_TLS: Types = {
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


def _given(name: str, prefix: str, settings: object, types: Types) -> dict[str, Any]:
    return given_settings(settings, types, owner=f"ensemble {name}", prefix=prefix, error=EnsembleError)
