# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elements merged from several files; `tests/clickhouse` compares the same with a real server."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.sections import (
    MergedElement,
    Occurrence,
    SubstitutionValue,
    merge_elements,
    resolve,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import XmlFile
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError

NODE = "<node><host>{}</host></node>"
A, B = NODE.format("a"), NODE.format("b")
SUBSTITUTIONS = XmlFile(
    "s", f"<yandex><z w='1'>{A}</z><y incl='z'/><again><x incl='again'/></again></yandex>".encode()
)


def files(*contents: str) -> list[XmlFile]:
    return [XmlFile(str(index), f"<yandex>{each}</yandex>".encode()) for index, each in enumerate(contents)]


def look_up(name: str) -> SubstitutionValue:
    found = SUBSTITUTIONS.named(name)
    return SubstitutionValue(Occurrence(SUBSTITUTIONS, found[0])) if found else SubstitutionValue()


def nodes(*contents: str) -> list[list[str]]:
    """Return the hosts of every <zk> after the merge."""
    found = (resolve(each, look_up) for each in merge_elements("zk", files(*contents)))
    return [[node.host for node in said.nodes()] for said in found if said is not None]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (["<x/>"], []),
        ([f"<zk>{A}</zk>"], [["a"]]),
        ([f"<zk>{A}</zk><zk>{B}</zk>"], [["a"], ["b"]]),
        (["", f"<zk>{A}</zk>"], [["a"]]),
        # Elements of one name and one identity become one, host by host; others stand beside each other.
        ([f"<zk>{A}</zk>", f"<zk>{B}</zk>"], [["b"]]),
        ([f"<zk>{A}</zk>", "<zk><node index='2'><host>b</host></node></zk>"], [["a", "b"]]),
        ([f"<zk x='1'>{A}</zk>", f"<zk>{B}</zk>"], [["a"], ["b"]]),
        ([f"<zk x='1'>{A}</zk>", f"<zk x='1'>{A}{B}</zk>"], [["a", "b"]]),
        ([f"<zk>{A}</zk>", f"<zk replace='1'>{B}</zk>"], [["b"]]),
        ([f"<zk>{A}</zk>", "<zk remove='1'/>"], []),
        ([f"<zk>{A}</zk>", "<zk remove='1'/>", f"<zk>{B}</zk>"], [["b"]]),
        (["", "<zk remove='1'/>"], []),
        (["", f"<zk replace='1'>{A}</zk>"], [["a"]]),
        ([f"<zk remove='1'>{A}</zk>"], [["a"]]),
        ([f"<zk>{A}<node/></zk>", "<zk><node remove='1'/></zk>"], [[""]]),
        # Substitutions come after merging, and those of an element that is merged into another are lost.
        (["<zk incl='z'/>"], [["a"]]),
        (["<zk incl='y'/>"], [["a"]]),
        ([f"<zk incl='z'>{B}</zk>"], [["b", "a"]]),
        ([f"<zk incl='z' replace='1'>{B}</zk>"], [["a"]]),
        ([f"<zk>{B}</zk>", "<zk incl='z'/>"], [["b"]]),
        (["<zk incl='none'/>"], [[]]),
        ([f"<zk incl='none' optional='1'/><zk>{B}</zk>"], [["b"]]),
        (["<zk incl='none' optional='true'/>", f"<zk>{B}</zk>"], [["b"]]),
        (["<zk incl='z' optional='true'/>", f"<zk>{B}</zk>"], [["a"], ["b"]]),
        (["<zk><node incl='none' optional='1'/><node incl='z'/></zk>"], [[""]]),
    ],
)
def test_what_is_left_of_several_files(contents: list[str], expected: list[list[str]]) -> None:
    assert nodes(*contents) == expected


def test_every_occurrence_is_known() -> None:
    (said,) = merge_elements("zk", files(f"\n<zk>{A}</zk>", "<x/>", f"\n\n<zk>{B}</zk>"))
    assert [str(occurrence) for occurrence in said.occurrences] == ["0 line 2", "2 line 3"]
    assert str(said.origin) == "0 line 2"


@pytest.mark.parametrize("attribute", ["from_env", "from_zk"])
def test_an_unresolvable_attribute_is_a_problem(attribute: str) -> None:
    (said,) = merge_elements("zk", files(f"<zk>{A}<node><host {attribute}='x'/></node></zk>"))
    found = resolve(said, look_up)
    assert found is not None
    assert found.nodes() == [Node("a")]
    assert list(found.problems()) == [
        f"<host> in 0 line 1 has the attribute {attribute}, which only the server can resolve"
    ]
    assert not found.has(ElementContent((Node("a"),)))


def test_an_unknown_substitution_is_a_problem() -> None:
    (said,) = merge_elements("zk", files("<zk incl='z' optional='1'/>"))
    found = resolve(said, lambda _name: SubstitutionValue(None, "nobody knows"))
    assert found is not None
    assert list(found.problems()) == ["nobody knows"]


def test_a_circular_substitution_is_refused() -> None:
    with pytest.raises(FormatError, match=r"takes its value from itself. Correct the attribute incl"):
        nodes("<zk incl='again'/>")


def test_elements_that_are_too_deep_are_refused() -> None:
    with pytest.raises(FormatError, match="^0 line 1 has elements nested more than 50 levels deep"):
        merge_elements("zk", files(f"<zk>{'<a>' * 100}{'</a>' * 100}</zk>"))


@pytest.mark.parametrize(
    ("inner", "settings", "expected"),
    [
        (A + B, {}, True),
        (B + A, {"root": ""}, True),
        (A, {}, False),
        (A + B + B, {}, False),
        (f"{A}{B}<root>/x</root>", {"root": "/x"}, True),
        (f"{A}{B}<root>/x</root><root>/y</root>", {"root": "/y"}, False),
        (f"{A}{B}<root>/x</root>", {"root": ""}, False),
        (f"{A}{B}<root from_env='R'>/x</root>", {"root": "/x"}, False),
        (f"{A}{B}<root from_env='R'/>", {}, True),
        (A + B.replace("</host>", "</host><secure>1</secure>"), {}, False),
    ],
)
def test_whether_an_element_has_the_desired_content(
    inner: str, settings: dict[str, str], expected: bool
) -> None:
    (said,) = merge_elements("zk", files(f"<zk>{inner}</zk>"))
    found = resolve(said, look_up)
    assert isinstance(found, MergedElement)
    assert found.has(ElementContent((Node("a"), Node("b")), settings)) is expected
