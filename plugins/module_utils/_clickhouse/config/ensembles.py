# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ensembles of a configuration, whatever element names them.

A server takes its hot ensemble from <zookeeper>, else from <keeper>, else from the Keeper inside the server
itself in <keeper_server>. Versions without the last two elements have no hot ensemble then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .names import AUXILIARY_ELEMENT, COLD_ELEMENT, HOT_ELEMENT, KEEPER_ELEMENT, KEEPER_SERVER_ELEMENT, tagged
from .sections import MergedElement
from .view import View
from .xml_scan import is_true
from .zookeeper_element import Node


class Ensemble(NamedTuple):
    """An ensemble as one element names it.

    element: path of the element below the root.
    problems: why not all members are known.
    aliases: the members at a second port, by which a client reaches them as well.
    """

    element: str
    nodes: tuple[Node, ...]
    problems: tuple[str, ...]
    aliases: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return tagged(self.element)


def hot_ensembles(view: View) -> list[Ensemble]:
    """Return the elements that the hot ensemble comes from; several if it is unknown which of them counts."""
    found = [*_named(view, HOT_ELEMENT), *_named(view, KEEPER_ELEMENT)]
    if all(each.problems for each in found):
        found += _of_keeper_server(view)
    return found


def cold_ensembles(view: View) -> list[Ensemble]:
    """Return the cold ensemble of patched servers, and every auxiliary ensemble."""
    found = _named(view, COLD_ELEMENT)
    problems = tuple(view.unknown(AUXILIARY_ELEMENT))
    for parent in view.sections(AUXILIARY_ELEMENT)[:1]:
        problems += (parent.problem,) if parent.problem else ()
        found += [_ensemble(f"{AUXILIARY_ELEMENT}/{each.tag}", each) for each in parent.children]
    return [*found, *([Ensemble(AUXILIARY_ELEMENT, (), problems)] if problems else [])]


def _named(view: View, element: str) -> list[Ensemble]:
    found = [_ensemble(element, section) for section in view.sections(element)]
    unknown = tuple(view.unknown(element))
    return [*found, *([Ensemble(element, (), unknown)] if unknown else [])]


def _ensemble(element: str, section: MergedElement) -> Ensemble:
    return Ensemble(element, tuple(section.nodes()), tuple(section.problems_of_members()))


def _of_keeper_server(view: View) -> Iterator[Ensemble]:
    for section in view.sections(KEEPER_SERVER_ELEMENT)[:1]:
        raft = section.named("raft_configuration")[:1]
        if not raft or not is_true(section.child_text("use_cluster", "true")):
            continue
        secure, plain = (section.child_text(each) for each in ("tcp_port_secure", "tcp_port"))
        servers = [each for each in raft[0].children if each.tag.startswith("server")]
        parts = [*servers, *(each for each in section.children if each.tag.startswith("tcp_port"))]
        problems = [problem for each in parts for problem in each.problems()]
        problems += [each for each in (section.problem, raft[0].problem) if each]
        hosts = [each.child_text("hostname") for each in servers]
        nodes = [Node(each, secure or plain, bool(secure)) for each in hosts]
        aliases = [Node(each, plain, False) for each in hosts if secure and plain]
        yield Ensemble(KEEPER_SERVER_ELEMENT, tuple(nodes), tuple(problems), tuple(aliases))
    if unknown := view.unknown(KEEPER_SERVER_ELEMENT):
        yield Ensemble(KEEPER_SERVER_ELEMENT, (), tuple(unknown))
