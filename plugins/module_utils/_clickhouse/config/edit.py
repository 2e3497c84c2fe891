# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts <cold_zookeeper> or <zookeeper> into a configuration, or takes it out: bytes in, bytes out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from ..._partmove.errors import FormatError, PartMoveError, SameEnsemble
from .files import Config, ConfigSource, Place, only
from .xml_document import Splice, XmlFile
from .xml_scan import Element
from .zookeeper_element import ElementContent, Node, edits, rendered

COLD_ELEMENT, HOT_ELEMENT = "cold_zookeeper", "zookeeper"
INCL, INLINE, DROP_IN = "incl", "inline", "drop_in"
DEFAULT_SUBSTITUTIONS = {COLD_ELEMENT: "cold-zookeeper-servers", HOT_ELEMENT: "zookeeper-servers"}
_OTHER = {COLD_ELEMENT: HOT_ELEMENT, HOT_ELEMENT: COLD_ELEMENT}
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.xml")
# This comment is in what was added, so that what is taken out again is that and no more.
_MARK = "<!-- Added by olap.partmove.clickhouse_config -->"
_NEW_FILE = '<?xml version="1.0"?>\n<!-- Made by olap.partmove.clickhouse_config -->\n<{root}>\n</{root}>\n'


class FileEdit(NamedTuple):
    """What becomes of a file; None stands for no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Style:
    """How an element is written that is not there yet.

    name: `INCL`, `INLINE` or `DROP_IN`.
    substitution: for `INCL`, the name in the file of substitutions.
    drop_in: for `DROP_IN`, the name of the file.
    """

    name: str
    substitution: str
    drop_in: str

    def __post_init__(self) -> None:
        """Refuse names that cannot be written."""
        if not _XML_NAME.fullmatch(self.substitution):
            raise PartMoveError(
                f"substitution is {self.substitution!r}, which is not the name of an XML element",
                remedy="Use letters, digits, '_' and '-', a letter first",
            )
        if not _FILE_NAME.fullmatch(self.drop_in):
            raise PartMoveError(
                f"drop_in is {self.drop_in!r}, which is not the name of a file that ClickHouse merges",
                remedy="Give a name without a folder, with .xml at its end",
            )


class ConfigChange(NamedTuple):
    """What is to be done to a configuration, and what it says then.

    edits: in an order in which the configuration makes sense between any two of them.
    style: how the element is written; ``absent`` when it is not there.
    path: the file that has it.
    """

    edits: tuple[FileEdit, ...]
    style: str
    path: str = ""
    substitution: str = ""
    substitutions_path: str = ""
    nodes: tuple[Node, ...] = ()


def drop_in_path(main: str, name: str) -> str:
    """Where a file of that name is merged into config.xml."""
    path = PurePosixPath(main)
    return str(path.with_suffix(".d") / name)


def ensure_present(source: ConfigSource, element: str, wanted: ElementContent, style: Style) -> ConfigChange:
    """See to it that the element says what is wanted.

    Raises PartMoveError and its kin: the configuration is not understood, or hot and cold would have a
    member in common.
    """
    config = Config(source)
    _check_apart(config, element, wanted)
    place = config.find(element)
    if place is None:
        return _add(config, element, wanted, style)
    file, found = place.file, place.element
    if not place.substitution:
        after = file.spliced(edits(file, found, wanted), element)
        return ConfigChange(_changed(file, after), _style_of(config, place), file.path, nodes=wanted.nodes)
    return _include(config, place.substitution, wanted, [])._replace(path=file.path)


def ensure_absent(source: ConfigSource, element: str, style: Style) -> ConfigChange:
    """See to it that the configuration has no such element; raises as `ensure_present` does.

    Of ``style`` only the name of the substitution counts: one that was made here for a reference that is
    gone, or that was never written because a run ended early, goes too.
    """
    config = Config(source)
    place = config.find(element)
    if place is None:
        return ConfigChange(_without_leftover(config, style.substitution), "absent")
    if place.meaning is None and "optional" in place.element.attributes and not _is_ours(place):
        return ConfigChange((), "absent")
    changes = (*_without_element(place), *_without_meaning(config, place))
    if not changes:
        raise FormatError(
            f"<{element}> in {place.file.path} takes its value from {place.substitution},"
            " which another element uses as well",
            remedy="Remove the reference by hand",
        )
    return ConfigChange(changes, "absent")


def _without_element(place: Place) -> tuple[FileEdit, ...]:
    found = place.element
    # A reference that somebody wrote before its substitution existed stays as it was then.
    if place.substitution and "optional" in found.attributes and not _is_ours(place):
        return ()
    return _without(place.file, place.file.removal(found), found.tag)


def _without_meaning(config: Config, place: Place) -> tuple[FileEdit, ...]:
    if not place.substitution or place.meaning is None or config.uses_of(place.substitution) > 1:
        return ()
    file, found = place.meaning
    # A substitution that somebody else wrote stays: it does nothing without the reference.
    if _is_ours(place) and not _is_marked(file, found):
        return ()
    return _without(file, file.removal(found), found.tag)


def _without_leftover(config: Config, name: str) -> tuple[FileEdit, ...]:
    file = config.substitutions()
    if file is None or config.uses_of(name):
        return ()
    marked = [found for found in file.root.named(name) if _is_marked(file, found)]
    return _without(file, file.removal(marked[0]), name) if marked else ()


def _add(config: Config, element: str, wanted: ElementContent, style: Style) -> ConfigChange:
    main = config.main
    if style.name == INCL:
        open_tag = f'<{element} incl="{style.substitution}" optional="true">'
        line = f"{open_tag}{_MARK}</{element}>".encode()
        reference = _with(main, [line], element)
        return _include(config, style.substitution, wanted, reference)._replace(path=main.path)
    file = main if style.name == INLINE else _drop_in(config, style)
    lines = rendered(f"<{element}>", element, wanted, file.unit())
    return ConfigChange(_with(file, lines, element), style.name, file.path, nodes=wanted.nodes)


def _include(
    config: Config, name: str, wanted: ElementContent, reference: Sequence[FileEdit]
) -> ConfigChange:
    """See to it that the substitution says what is wanted, and only then refer to it."""
    path = config.substitutions_path()
    file = config.substitutions() or _new_file(path, config.main)
    if config.uses_of(name) > (0 if reference else 1):
        raise FormatError(
            f"The substitution {name} is used by another element of {config.main.path} as well",
            remedy="Give substitution another name, or correct the attribute incl",
        )
    found = only(file, name)
    if found is None:
        changes = _with(file, rendered(f"<{name}>", name, wanted, file.unit(), _MARK), name)
    else:
        changes = _changed(file, file.spliced(edits(file, found, wanted), name))
    return ConfigChange(
        (*changes, *reference),
        INCL,
        substitution=name,
        substitutions_path=path,
        nodes=wanted.nodes,
    )


def _drop_in(config: Config, style: Style) -> XmlFile:
    path = drop_in_path(config.main.path, style.drop_in)
    return next((file for file in config.drop_ins if file.path == path), None) or _new_file(path, config.main)


def _new_file(path: str, like: XmlFile) -> XmlFile:
    return XmlFile(path, _NEW_FILE.format(root=like.root.tag).encode(), exists=False)


def _with(file: XmlFile, lines: Sequence[bytes], element: str) -> tuple[FileEdit, ...]:
    """The file with a new child of the root, beside its kin if they are there."""
    kin = file.root.named(_OTHER.get(element, ""))
    after = file.spliced(file.insertion(lines, file.root, kin[0] if kin else None), element)
    return _changed(file, after)


def _without(file: XmlFile, splices: Sequence[Splice], element: str) -> tuple[FileEdit, ...]:
    """The file without a child of the root; no file when it was made for that child."""
    after = file.spliced(splices, element)
    is_left_over = after.data == _new_file(file.path, file).data
    return (FileEdit(file.path, file.data, None if is_left_over else after.data),)


def _changed(before: XmlFile, after: XmlFile) -> tuple[FileEdit, ...]:
    if before.data == after.data:
        return ()
    return (FileEdit(before.path, before.data if before.exists else None, after.data),)


def _is_ours(place: Place) -> bool:
    """Whether the element was written here as a reference."""
    return _is_marked(place.file, place.element)


def _is_marked(file: XmlFile, element: Element) -> bool:
    return _MARK.encode() in file.text[element.start : element.end]


def _style_of(config: Config, place: Place) -> str:
    return INLINE if place.file is config.main else DROP_IN


def _check_apart(config: Config, element: str, wanted: ElementContent) -> None:
    """Refuse members that the other ensemble has as well."""
    other = config.find(_OTHER[element])
    if other is None:
        return
    common = {node.address for node in wanted.nodes} & {node.address for node in other.nodes()}
    if common:
        raise SameEnsemble(
            f"{min(common)} is to be in <{element}> and is in <{_OTHER[element]}> already",
            remedy="Hot and cold must be two ensembles: name the members of the right one",
        )
