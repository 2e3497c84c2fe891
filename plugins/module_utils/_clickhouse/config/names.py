# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The elements of a configuration for ensembles."""

from __future__ import annotations

COLD_ELEMENT, HOT_ELEMENT, AUXILIARY_ELEMENT = "cold_zookeeper", "zookeeper", "auxiliary_zookeepers"
KEEPER_ELEMENT, KEEPER_SERVER_ELEMENT = "keeper", "keeper_server"
ENSEMBLE_ELEMENTS = (COLD_ELEMENT, HOT_ELEMENT, AUXILIARY_ELEMENT, KEEPER_ELEMENT, KEEPER_SERVER_ELEMENT)
DEFAULT_SUBSTITUTIONS = {
    COLD_ELEMENT: "cold-zookeeper-servers",
    HOT_ELEMENT: "zookeeper-servers",
    AUXILIARY_ELEMENT: "auxiliary-zookeepers",
}
OTHER_ELEMENT = {COLD_ELEMENT: HOT_ELEMENT, HOT_ELEMENT: COLD_ELEMENT, AUXILIARY_ELEMENT: HOT_ELEMENT}
"""Element → the element beside which a new one is written, both below the root."""


def tagged(element: str) -> str:
    """Return the element with its tags, for messages."""
    return "".join(f"<{tag}>" for tag in element.split("/"))
