# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adds an ensemble to a configuration or removes it: takes bytes and returns bytes.

An element is named by its path below the root: ``zookeeper``, or ``auxiliary_zookeepers/cold`` for an element
in a parent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from ..._partmove.errors import FormatError, PartMoveError
from .checks import check_disjoint, check_editable, check_effective, check_gone, check_hot_element
from .dialects import ROOTS
from .draft import Draft, FileEdit, below_root
from .files import Config, ConfigSource, only_child
from .names import OTHER_ELEMENT, tagged
from .removal import MARK, new_file, remove_element, remove_leftover
from .sections import Occurrence
from .xml_document import XmlFile
from .zookeeper_element import SUBSTITUTIONS, ElementContent, Node, edits_to, render

AUTO, INCL, INLINE, DROP_IN = "auto", "incl", "inline", "drop_in"
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.xml")


@dataclass(frozen=True)
class Style:
    """How a new element is written.

    name: `INCL`, `INLINE` or `DROP_IN`. `AUTO` means `INCL` if every server version finds a new substitution,
        else `DROP_IN`.
    substitution: for `INCL`, the name in the file of substitutions.
    drop_in: for `DROP_IN`, the name of the file.
    """

    name: str
    substitution: str
    drop_in: str

    def __post_init__(self) -> None:
        """Raise PartMoveError for names that cannot be written."""
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
    """The edits of a configuration, and the element after them.

    edits: in an order in which the configuration is valid between any two edits.
    style: how the element is written; ``absent`` without an element.
    path: the file with the element.
    read: every file that belongs to the configuration, as far as the files are known.
    unknown: why not all members of hot and cold could be compared.
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
    """Return the path of a file with this name that the server merges into config.xml."""
    path = PurePosixPath(main)
    return str(path.with_suffix(".d") / name)


def ensure_present(source: ConfigSource, element: str, desired: ElementContent, style: Style) -> ConfigChange:
    """Make the server find the element with the desired content.

    Raises FormatError if the configuration cannot be parsed, SameEnsemble if hot and cold would share a
    member, and other kinds of PartMoveError.
    """
    config = Config(source)
    unknown = check_disjoint(config, element, desired)
    check_hot_element(config, element, desired)
    draft = Draft(config)
    change = _ensure(draft, element, desired, style)
    check_effective(draft, element, desired)
    return change._replace(
        edits=draft.edits(), nodes=desired.nodes, read=tuple(config.paths()), unknown=tuple(unknown)
    )


def ensure_absent(source: ConfigSource, element: str, style: Style) -> ConfigChange:
    """Make the server find no such element; raises as `ensure_present` does.

    Only the name of the substitution in ``style`` counts. A substitution of this collection is also removed
    if its reference is gone, or was never written because a run ended early.
    """
    config = Config(source)
    draft = Draft(config)
    occurrences = [
        occurrence
        for occurrence in config.occurrences(element)
        # The server merges nothing into config.xml that the attribute could remove there.
        if "remove" not in occurrence.element.attributes or occurrence.file is config.main
    ]
    # From last to first: a removal moves the elements after it.
    for occurrence in reversed(occurrences):
        remove_element(draft, occurrence, occurrences)
    if not occurrences:
        remove_leftover(draft, style.substitution)
    unknown = check_gone(draft, element)
    return ConfigChange(draft.edits(), "absent", read=tuple(config.paths()), unknown=tuple(unknown))


def _ensure(draft: Draft, element: str, desired: ElementContent, style: Style) -> ConfigChange:
    config = draft.before
    sections = config.sections(element)
    if not sections:
        reference = _reference_without_value(config, element, style)
        return (
            _add(draft, element, desired, style) if reference is None else _include(draft, reference, desired)
        )
    occurrences = [occurrence for section in sections for occurrence in section.occurrences]
    current = sections[0]
    if len(occurrences) == 1 and not current.has(desired):
        _correct(draft, occurrences[0], desired)
    elif not current.has(desired):
        raise FormatError(
            f"{tagged(element)} exists {len(occurrences)} times: in {' and in '.join(map(str, occurrences))}",
            remedy="Keep the one that counts and run again",
        )
    return _describe(config, current.occurrences[0])


def _describe(config: Config, occurrence: Occurrence) -> ConfigChange:
    """Return how an existing element is written."""
    file, element = occurrence
    name = element.attributes.get("incl", "")
    if name:
        return ConfigChange((), INCL, file.path, name, config.include_from().path)
    if file is config.substitutions():
        # The reference is on the parent and includes all children.
        return ConfigChange((), INCL, config.main.path, below_root(element).tag, file.path)
    return ConfigChange((), INLINE if file is config.main else DROP_IN, file.path)


def _reference_without_value(config: Config, element: str, style: Style) -> Occurrence | None:
    """Return the optional reference to a missing substitution, if the substitution can be written."""
    if not (config.supports_substitutions() or (style.name == INCL and config.include_from().path)):
        return None
    occurrences = config.occurrences(element)
    return (
        occurrences[0]
        if occurrences and all("incl" in occurrence.element.attributes for occurrence in occurrences)
        else None
    )


def _correct(draft: Draft, occurrence: Occurrence, desired: ElementContent) -> None:
    """Give the only occurrence of an element the desired content."""
    file, element = occurrence
    check_editable(draft.before, occurrence)
    if "incl" not in element.attributes:
        xml = draft.editable(file)
        draft.put(xml, edits_to(xml, element, desired), below_root(element).tag)
        return
    if element.children:
        raise FormatError(
            f"<{element.tag}> in {occurrence} has incl and also elements of its own",
            remedy="Keep one of the two",
        )
    _include(draft, occurrence, desired)


def _include(draft: Draft, reference: Occurrence, desired: ElementContent) -> ConfigChange:
    name = reference.element.attributes["incl"]
    _write_substitution(draft, name, desired, references=1)
    return _describe(draft.before, reference)


def _add(draft: Draft, element: str, desired: ElementContent, style: Style) -> ConfigChange:
    config = draft.before
    name = style.name
    if "/" in element and name == INCL:
        raise FormatError(
            f"{tagged(element)} does not exist yet, and cannot be written as a reference",
            remedy="Use the style drop_in or inline; an existing reference is kept",
        )
    if name == AUTO:
        name = INCL if config.supports_substitutions() and "/" not in element else DROP_IN
    if name == INCL:
        main = _main_with_substitutions(draft)
        path = _write_substitution(draft, style.substitution, desired, references=0)
        open_tag = f'<{element} incl="{style.substitution}" optional="true">'
        _add_below_root(draft, main, [f"{open_tag}{MARK}</{element}>".encode()], element)
        return ConfigChange((), INCL, main.path, style.substitution, path)
    file = draft.editable(config.main) if name == INLINE else _drop_in(config, style)
    if "/" in element:
        _add_to_parent(draft, file, element, desired)
    else:
        _add_below_root(draft, file, render(f"<{element}>", element, desired, file.unit()), element)
    return ConfigChange((), name, file.path)


def _add_to_parent(draft: Draft, file: XmlFile, element: str, desired: ElementContent) -> None:
    """Add a new element to its parent, which is created if the file has none."""
    tag, _slash, name = element.partition("/")
    lines = render(f"<{name}>", name, desired, file.unit())
    parents = [each for each in file.named(tag) if not each.attributes.keys() & {*SUBSTITUTIONS, "remove"}]
    if not parents:
        inner = [file.unit() + line for line in (MARK.encode(), *lines)]
        _add_below_root(draft, file, [f"<{tag}>".encode(), *inner, f"</{tag}>".encode()], tag)
    elif not parents[0].children:
        raise FormatError(
            f"<{tag}> in {Occurrence(file, parents[0])} is empty",
            remedy="Remove it, or use the style drop_in",
        )
    else:
        draft.put(file, file.insertion(lines, parents[0]), tag)


def _main_with_substitutions(draft: Draft) -> XmlFile:
    main = draft.editable(draft.before.main)
    if main.root_tag not in ROOTS:
        raise FormatError(
            f"{main.path} has the root <{main.root_tag}>, where no server searches for <include_from>",
            remedy="Use the style drop_in or inline",
        )
    return main


def _write_substitution(draft: Draft, name: str, desired: ElementContent, references: int) -> str:
    """Write the substitution with the desired content; return the path of its file.

    references: how many existing elements may use the substitution.
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
    found = only_child(file, name)
    if found is None:
        lines = render(f"<{name}>", name, desired, file.unit(), MARK)
        draft.put(file, file.insertion(lines, file.root), name)
    else:
        draft.put(file, edits_to(file, found, desired), name)
    return path


def _drop_in(config: Config, style: Style) -> XmlFile:
    path = drop_in_path(config.main.path, style.drop_in)
    found = next((file for file in config.drop_ins if file.path == path), None)
    return found if isinstance(found, XmlFile) else new_file(path, config.main.root_tag)


def _add_below_root(draft: Draft, file: XmlFile, lines: Sequence[bytes], element: str) -> None:
    """Add a new child of the root to the file, after the element of the other ensemble if there is one."""
    now = draft.current(file)
    other = now.root.named(OTHER_ELEMENT[element])
    draft.put(now, now.insertion(lines, now.root, other[0] if other else None), element)
