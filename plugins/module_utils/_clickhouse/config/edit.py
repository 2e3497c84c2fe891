# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts an ensemble into a configuration, or takes it out: bytes in, bytes out.

An element is named as it is written below the root, such as ``zookeeper``, or with the one that
it is in, such as ``auxiliary_zookeepers/cold``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from ..._partmove.errors import FormatError, PartMoveError
from .checks import check_apart, check_found
from .draft import Draft, FileEdit, below_root
from .files import ROOTS, Config, ConfigSource, only
from .names import OTHER, tagged
from .removal import MARK, new_file, take_out, take_out_leftover
from .sections import Piece
from .xml_document import XmlFile
from .zookeeper_element import SUBSTITUTIONS, ElementContent, Node, edits, rendered

AUTO, INCL, INLINE, DROP_IN = "auto", "incl", "inline", "drop_in"
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.xml")


@dataclass(frozen=True)
class Style:
    """How an element is written that is not there yet.

    name: `INCL`, `INLINE` or `DROP_IN`; `AUTO` is `INCL` where every server finds a substitution that is
        written here, and else `DROP_IN`.
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
    read: every file that the configuration is made of, as far as they are known.
    unknown: why hot and cold could not be compared altogether.
    """

    edits: tuple[FileEdit, ...]
    style: str
    path: str = ""
    substitution: str = ""
    substitutions_path: str = ""
    nodes: tuple[Node, ...] = ()
    read: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def drop_in_path(main: str, name: str) -> str:
    """Where a file of that name is merged into config.xml."""
    path = PurePosixPath(main)
    return str(path.with_suffix(".d") / name)


def ensure_present(source: ConfigSource, element: str, wanted: ElementContent, style: Style) -> ConfigChange:
    """See to it that the server finds the element, and that it says what is wanted.

    Raises PartMoveError and its kin: the configuration is not understood, or hot and cold would have a
    member in common.
    """
    config = Config(source)
    unknown = check_apart(config, element, wanted)
    draft = Draft(config)
    change = _ensure(draft, element, wanted, style)
    if draft.edits():
        check_found(draft, element, wanted)
    return change._replace(
        edits=draft.edits(), nodes=wanted.nodes, read=tuple(config.paths()), unknown=tuple(unknown)
    )


def ensure_absent(source: ConfigSource, element: str, style: Style) -> ConfigChange:
    """See to it that the server finds no such element; raises as `ensure_present` does.

    Of ``style`` only the name of the substitution counts: one that was made here for a reference that is
    gone, or that was never written because a run ended early, goes too.
    """
    config = Config(source)
    draft = Draft(config)
    pieces = [piece for piece in config.pieces(element) if "remove" not in piece.element.attributes]
    # From the last to the first, as what is taken out moves what comes after it.
    for piece in reversed(pieces):
        take_out(draft, piece, pieces)
    if not pieces:
        take_out_leftover(draft, style.substitution)
    return ConfigChange(draft.edits(), "absent", read=tuple(config.paths()))


def _ensure(draft: Draft, element: str, wanted: ElementContent, style: Style) -> ConfigChange:
    config = draft.before
    sections = config.sections(element)
    if not sections:
        reference = _reference_without_meaning(config, element, style)
        return (
            _add(draft, element, wanted, style) if reference is None else _include(draft, reference, wanted)
        )
    pieces = [piece for section in sections for piece in section.pieces]
    said = sections[0]
    if len(pieces) == 1 and not said.says(wanted):
        _correct(draft, pieces[0], wanted)
    elif not said.says(wanted):
        raise FormatError(
            f"{tagged(element)} is there {len(pieces)} times: in {' and in '.join(map(str, pieces))}",
            remedy="Leave the one that counts and run again",
        )
    return _told(config, said.pieces[0])


def _told(config: Config, piece: Piece) -> ConfigChange:
    """How an element is written that is there."""
    file, element = piece
    name = element.attributes.get("incl", "")
    if name:
        return ConfigChange((), INCL, file.path, name, config.include_from().path)
    if file is config.substitutions():
        # What it is in refers to all of them.
        return ConfigChange((), INCL, config.main.path, below_root(element).tag, file.path)
    return ConfigChange((), INLINE if file is config.main else DROP_IN, file.path)


def _reference_without_meaning(config: Config, element: str, style: Style) -> Piece | None:
    """An optional reference to what is not there yet, where that can be written."""
    if not (config.takes_substitutions() or (style.name == INCL and config.include_from().path)):
        return None
    pieces = config.pieces(element)
    return pieces[0] if pieces and all("incl" in piece.element.attributes for piece in pieces) else None


def _correct(draft: Draft, piece: Piece, wanted: ElementContent) -> None:
    """Make the only piece of an element say what is wanted."""
    file, element = piece
    strange = {"from_zk", "from_env"} & set(element.attributes)
    if strange:
        raise FormatError(
            f"<{element.tag}> in {piece} has the attribute {min(strange)}, which is not managed here",
            remedy="Write the element without it, or edit it by hand",
        )
    if "incl" not in element.attributes:
        xml = draft.editable(file)
        draft.put(xml, edits(xml, element, wanted), below_root(element).tag)
        return
    if element.children:
        raise FormatError(
            f"<{element.tag}> in {piece} has incl and elements of its own as well",
            remedy="Leave one of the two",
        )
    _include(draft, piece, wanted)


def _include(draft: Draft, reference: Piece, wanted: ElementContent) -> ConfigChange:
    name = reference.element.attributes["incl"]
    _write_substitution(draft, name, wanted, references=1)
    return _told(draft.before, reference)


def _add(draft: Draft, element: str, wanted: ElementContent, style: Style) -> ConfigChange:
    config = draft.before
    name = style.name
    if "/" in element and name == INCL:
        raise FormatError(
            f"{tagged(element)} is not there yet, and is not written as a reference",
            remedy="Use the style drop_in or inline; a reference that is there is kept",
        )
    if name == AUTO:
        name = INCL if config.takes_substitutions() and "/" not in element else DROP_IN
    if name == INCL:
        main = _main_with_substitutions(draft)
        path = _write_substitution(draft, style.substitution, wanted, references=0)
        open_tag = f'<{element} incl="{style.substitution}" optional="true">'
        _put_beside_kin(draft, main, [f"{open_tag}{MARK}</{element}>".encode()], element)
        return ConfigChange((), INCL, main.path, style.substitution, path)
    file = draft.editable(config.main) if name == INLINE else _drop_in(config, style)
    if "/" in element:
        _put_into_parent(draft, file, element, wanted)
    else:
        _put_beside_kin(draft, file, rendered(f"<{element}>", element, wanted, file.unit()), element)
    return ConfigChange((), name, file.path)


def _put_into_parent(draft: Draft, file: XmlFile, element: str, wanted: ElementContent) -> None:
    """Put a new element into the one that it belongs in, which is made where the file has none."""
    tag, _slash, name = element.partition("/")
    lines = rendered(f"<{name}>", name, wanted, file.unit())
    parents = [each for each in file.named(tag) if not each.attributes.keys() & {*SUBSTITUTIONS, "remove"}]
    if not parents:
        inner = [file.unit() + line for line in (MARK.encode(), *lines)]
        _put_beside_kin(draft, file, [f"<{tag}>".encode(), *inner, f"</{tag}>".encode()], tag)
    elif not parents[0].children:
        raise FormatError(
            f"<{tag}> in {Piece(file, parents[0])} is empty", remedy="Remove it, or use the style drop_in"
        )
    else:
        draft.put(file, file.insertion(lines, parents[0]), tag)


def _main_with_substitutions(draft: Draft) -> XmlFile:
    main = draft.editable(draft.before.main)
    if main.root_tag not in ROOTS:
        raise FormatError(
            f"{main.path} has the root <{main.root_tag}>, and no server looks for <include_from> there",
            remedy="Use the style drop_in or inline",
        )
    return main


def _write_substitution(draft: Draft, name: str, wanted: ElementContent, references: int) -> str:
    """See to it that the substitution says what is wanted, and return the path of its file.

    references: how many elements that are there may use it.
    """
    config = draft.before
    path, problem = config.include_from()
    if not path:
        raise FormatError(
            problem or f"<include_from> in {config.main.path} is empty",
            remedy="Write it with the whole path of a file, or use the style drop_in or inline",
        )
    file = config.substitutions() or new_file(path, config.main.root_tag)
    if file.root_tag not in ROOTS:
        raise FormatError(
            f"{path} has the root element <{file.root_tag}>",
            remedy="Substitutions are below <yandex> or <clickhouse>",
        )
    if (config.main.root_tag, file.root_tag) == ROOTS:
        raise FormatError(
            f"{path} has the root <{ROOTS[1]}>, where older servers find no substitution for <{ROOTS[0]}>",
            remedy=f"Write its root as that of {config.main.path}, or use the style drop_in or inline",
        )
    if config.uses_of(name) > references:
        raise FormatError(
            f"The substitution {name} is used by another element of {config.main.path} as well",
            remedy="Give substitution another name, or correct the attribute incl",
        )
    found = only(file, name)
    if found is None:
        lines = rendered(f"<{name}>", name, wanted, file.unit(), MARK)
        draft.put(file, file.insertion(lines, file.root), name)
    else:
        draft.put(file, edits(file, found, wanted), name)
    return path


def _drop_in(config: Config, style: Style) -> XmlFile:
    path = drop_in_path(config.main.path, style.drop_in)
    found = next((file for file in config.drop_ins if file.path == path), None)
    return found if isinstance(found, XmlFile) else new_file(path, config.main.root_tag)


def _put_beside_kin(draft: Draft, file: XmlFile, lines: Sequence[bytes], element: str) -> None:
    """Put a new child of the root into the file, beside its kin if they are there."""
    now = draft.now(file)
    kin = now.root.named(OTHER[element])
    draft.put(now, now.insertion(lines, now.root, kin[0] if kin else None), element)
