# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elements merged from several files; `tests/clickhouse` compares the same with real servers."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.dialects import (
    MIDDLE,
    NEWEST,
    OLDEST,
    Dialect,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.merging import (
    merge_elements,
    resolve,
    resolve_all,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.sections import (
    Occurrence,
    SubstitutionValue,
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
    "s",
    f"<yandex><z w='1'>{A}</z><y incl='z'/><again><x incl='again'/></again>"
    f"<of_zk><zk>{A}</zk><zk incl='z'/></of_zk></yandex>".encode(),
)


def files(*contents: str) -> list[XmlFile]:
    return [XmlFile(str(index), f"<yandex>{each}</yandex>".encode()) for index, each in enumerate(contents)]


def look_up(name: str) -> SubstitutionValue:
    found = SUBSTITUTIONS.named(name)
    return SubstitutionValue(Occurrence(SUBSTITUTIONS, found[0])) if found else SubstitutionValue()


def nodes(*contents: str, dialect: Dialect = NEWEST) -> list[list[str]]:
    """Return the hosts of every <zk> after the merge."""
    found = resolve_all(merge_elements("zk", files(*contents), dialect), look_up, dialect)
    return [[node.host for node in said.nodes()] for said in found]


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
        # Substitutions come after merging.
        (["<zk incl='z'/>"], [["a"]]),
        (["<zk incl='y'/>"], [["a"]]),
        ([f"<zk incl='z'>{B}</zk>"], [["b", "a"]]),
        ([f"<zk incl='z' replace='1'>{B}</zk>"], [["a"]]),
        ([f"<zk>{B}</zk>", "<zk incl='z'/>"], [["b", "a"]]),
        (["<zk incl='z'/>", f"<zk>{B}</zk>"], [["b"]]),
        (["<zk incl='z'/>", "<zk> </zk>"], [[]]),
        (["<zk incl='z'/>", "<zk></zk>"], [["a"]]),
        ([f"<zk>{B}</zk>", f"<zk replace='1' incl='z'>{B}</zk>"], [["a"]]),
        # What a file adds loses what it removes.
        (["", f"<zk><node remove='1'/>{A}</zk>"], [["a"]]),
        # An <include> stands for the children of its value, which are not resolved any further.
        (["<include incl='of_zk'/>"], [["a"], []]),
        ([f"<include incl='of_zk'/><zk>{B}</zk>"], [["a"], [], ["b"]]),
        ([f"<zk>{B}</zk><include incl='of_zk'/>"], [["b"], ["a"], []]),
        (["<include incl='none'/>", "<include incl='of_zk'/>"], [["a"], []]),
        (["<include incl='none'/>"], []),
        (["<zk><include incl='z'/></zk>"], [["a"]]),
        (["<zk incl='none'/>"], [[]]),
        ([f"<zk incl='none' optional='1'/><zk>{B}</zk>"], [["b"]]),
        (["<zk incl='none' optional='true'/>", f"<zk>{B}</zk>"], [["b"]]),
        (["<zk incl='z' optional='true'/>", f"<zk>{B}</zk>"], [["a"], ["b"]]),
        (["<zk><node incl='none' optional='1'/><node incl='z'/></zk>"], [[""]]),
    ],
)
def test_what_is_left_of_several_files(contents: list[str], expected: list[list[str]]) -> None:
    assert nodes(*contents) == expected


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([f"<zk>{B}</zk>", "<zk incl='z'/>"], [["b"]]),
        (["<zk incl='z'/>", f"<zk>{B}</zk>"], [["b", "a"]]),
        ([f"<zk>{B}</zk>", f"<zk replace='1' incl='z'>{B}</zk>"], [["b", "a"]]),
    ],
)
@pytest.mark.parametrize("dialect", [OLDEST, MIDDLE])
def test_older_versions_keep_the_attributes_of_the_first_file(
    contents: list[str], expected: list[list[str]], dialect: Dialect
) -> None:
    assert nodes(*contents, dialect=dialect) == expected


def test_the_oldest_versions_have_no_include() -> None:
    assert nodes(f"<include incl='of_zk'/><zk>{B}</zk>", dialect=OLDEST) == [["b"]]
    assert nodes("", f"<zk><node remove='1'/>{A}</zk>", dialect=OLDEST) == [["", "a"]]


@pytest.mark.parametrize(
    ("include", "problem"),
    [
        ("from_env='X'", "has the attribute from_env, which only the server can resolve"),
        ("from_zk='/x'", "has the attribute from_zk, which only the server can resolve"),
        ("incl='z' merge='1'", "has the attribute merge, which is not followed here"),
    ],
)
def test_an_unknown_include_stays_in_its_place(include: str, problem: str) -> None:
    merged = merge_elements("zk", files(f"<zk>{B}</zk><include {include}/><zk>{A}</zk>"))
    found = resolve_all(merged, look_up)
    assert [each.tag for each in found] == ["zk", "include", "zk"]
    assert found[1].problem == f"<include> in 0 line 1 {problem}"
    (inner,) = resolve_all(merge_elements("zk", files(f"<zk>{B}<include {include}/></zk>")), look_up)
    assert not inner.has(ElementContent((Node("b"),)))


@pytest.mark.parametrize("host", ["<host encrypted_by='x'>b</host>", "<host>${b}</host>"])
def test_a_text_that_the_server_replaces_is_unknown(host: str) -> None:
    (found,) = resolve_all(merge_elements("zk", files(f"<zk><node>{host}</node></zk>")), look_up)
    assert found.nodes() == []
    assert len(list(found.problems())) == 1


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
