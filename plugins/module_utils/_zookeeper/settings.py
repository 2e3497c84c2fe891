# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection settings in playbooks and JSON files.

All settings::

    {"hosts": ["zk1:2181"], "chroot": "",
     "session_timeout": 30, "connect_timeout": 15, "operation_timeout": 60,
     "members_complete": false,
     "auth": {"scheme": "digest", "credential": "user:password", "service": "zookeeper"},
     "tls": {"ca": "", "cert": "", "key": "", "key_password": "", "verify": true, "check_hostname": true}}

Only ``hosts`` is required. None means default. ``tls``, even empty, switches TLS on.
"""

from __future__ import annotations

from .._partmove.errors import EnsembleError
from .._partmove.records import FLAG_SETTING, SECONDS_SETTING, TEXT, Settings, list_of
from .options import EnsembleOptions, TlsOptions

_AUTH_OPTIONS = {"scheme": "auth_scheme", "credential": "auth_credential", "service": "sasl_service"}
_ENSEMBLE = Settings(
    {
        "hosts": list_of(TEXT, "a list of the members, each as host:port"),
        "chroot": TEXT,
        "session_timeout": SECONDS_SETTING,
        "connect_timeout": SECONDS_SETTING,
        "operation_timeout": SECONDS_SETTING,
        "auth": Settings(dict.fromkeys(_AUTH_OPTIONS, TEXT)),
        "members_complete": FLAG_SETTING,
        "tls": Settings(
            {
                "ca": TEXT,
                "cert": TEXT,
                "key": TEXT,
                "key_password": TEXT,
                "verify": FLAG_SETTING,
                "check_hostname": FLAG_SETTING,
            }
        ),
    },
    error=EnsembleError,
)


def options_of(name: str, settings: object) -> EnsembleOptions:
    """Parse the settings of the ensemble ``name``, hot or cold. Raises EnsembleError for invalid settings."""
    given = _ENSEMBLE.read(settings, f"Ensemble {name}")
    hosts, tls, auth = given.pop("hosts", ()), given.pop("tls", None), given.pop("auth", {})
    return EnsembleOptions(
        name=name,
        hosts=tuple(hosts),
        tls=None if tls is None else TlsOptions(**tls),
        **{_AUTH_OPTIONS[key]: value for key, value in auth.items()},
        **given,
    )
