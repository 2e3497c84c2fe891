# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of config_reload: make a running server use an auxiliary ensemble as configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._clickhouse.config.names import AUXILIARY_ELEMENT
from .._clickhouse.config.zookeeper_element import ElementContent
from .._clickhouse.known_ensemble import EnsembleOfServer, KnownEnsemble
from .._partmove.errors import PartMoveError
from .clickhouse_config import place_of, require_lxml
from .resources import Resources, client_of


class ConfigReload:
    """Implements Task for config_reload."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        require_lxml()
        self._name: str = params["name"]
        place_of(AUXILIARY_ELEMENT, self._name)
        client = client_of(params["clickhouse"])
        self._label = client.label
        self._server = EnsembleOfServer(
            client, self._name, ElementContent.of(params), params["preprocessed"], params["path"]
        )
        self._may_reload: bool = params["reload"]
        self._changed = False
        self._reason = ""
        self._version = ""
        self._known: KnownEnsemble | None = None

    def result(self) -> dict[str, Any]:
        """Return the ensemble as the server knows it, and whether the configuration was reloaded."""
        known = self._known
        if known is None:
            return {"changed": False}
        return {
            "changed": self._changed,
            "version": self._version,
            "read": known.read,
            "answers": known.answers,
            "connected": [each.address for each in known.connected],
            "restart_needed": bool(self._reason),
            "reason": self._reason,
        }

    def run(self, resources: Resources) -> None:
        """Check the server, and reload its configuration if a reload could help."""
        server = self._server
        self._version = server.version()
        self._known = known = server.read_state()
        if known.read is None and known.answers is None:
            raise PartMoveError(
                f"{self._label} does not report whether it knows the auxiliary ensemble {self._name}",
                remedy="Run the module on the host of the server, and give as preprocessed the file in which"
                " the server writes its preprocessed configuration, without hide_in_preprocessed on the"
                " ensemble",
            )
        differs = bool(server.difference(known))
        if not self._may_reload:
            self._judge(known)
        elif resources.check_mode:
            self._changed = differs
        elif differs or known.is_hidden or not known.shows_session:
            self._reload(differs=differs)

    def _reload(self, *, differs: bool) -> None:
        """Reload the configuration, also where nothing differs as far as the version shows.

        A server whose last reload failed keeps the former members. Without a session nothing shows that, and
        nothing shows that a hidden setting was not read yet. A reload does nothing on a server that has
        nothing to take over.
        """
        reason = self._server.reload()
        if reason:
            self._reason = reason if differs else ""
            return
        before, self._known = self._known, self._server.read_state()
        self._judge(self._known)
        self._changed = not self._reason and (differs or self._known != before)

    def _judge(self, known: KnownEnsemble) -> None:
        """Set the reason for a restart. Raises PartMoveError if a restart does not help."""
        if known.is_known and known.problem:
            raise PartMoveError(
                f"{self._label} knows the auxiliary ensemble {self._name} and cannot work with it:"
                f" {known.problem}",
                remedy="Check that its members serve this server, and that the znode of its root exists",
            )
        self._reason = self._server.difference(known)
