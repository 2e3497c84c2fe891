# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Properties of every edit: it is the only change, is made once, and can be undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import assume, given, settings, strategies as st
from lxml import etree

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    ConfigChange,
    Style,
    ensure_absent,
    ensure_present,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from support.files.configs import ENCODED, MAIN, METRIKA, MemoryConfig

COLD = "cold_zookeeper"
SUBSTITUTION = "cold-zookeeper-servers"
# Nothing that an encoding of ENCODED could not write.
WORDS = st.text("ab <>/='\"-", max_size=8)
GAPS = st.sampled_from(["", "", " ", "\n", "\n    ", "\n  ", "\n\n\t", "\n \n    "])


@st.composite
def contents(draw: st.DrawFn, depth: int = 0) -> str:
    """Content between two tags: text, comments, elements, with any white space."""
    parts = draw(st.lists(st.one_of(GAPS, occurrences(depth)), max_size=5))
    return "".join(parts)


@st.composite
def occurrences(draw: st.DrawFn, depth: int) -> str:
    """One comment, instruction, character section, text or element."""
    words = draw(WORDS)
    kind = draw(
        st.sampled_from(["comment", "cdata", "text", "pi", "empty", *(["element"] * 3 * (depth < 2))])
    )
    if kind == "comment":
        return f"<!--{words.replace('-', '')}<{COLD}>-->"
    if kind == "cdata":
        return f"<![CDATA[{words.replace('>', '')}</yandex>]]>"
    if kind == "pi":
        return "<?x y?>"
    if kind == "text":
        return words.replace("<", "&lt;").replace(">", "&#62;")
    name = draw(st.sampled_from(["a", "macros", "node", f"x-{COLD}", SUBSTITUTION + ".x"]))
    attribute = draw(st.sampled_from(["", " a='>'", ' index="1" b=""', "\n  c='/'"]))
    if kind == "empty":
        return f"<{name}{attribute}{draw(st.sampled_from(['', ' ']))}/>"
    return f"<{name}{attribute}>{draw(contents(depth + 1))}</{name}{draw(st.sampled_from(['', ' ']))}>"


@st.composite
def documents(draw: st.DrawFn, extra: st.SearchStrategy[str]) -> str:
    """A configuration with one more occurrence somewhere below its root."""
    root = draw(st.sampled_from(["yandex", "clickhouse"]))
    before, occurrence, after = draw(contents()), draw(extra), draw(contents())
    prolog = draw(st.sampled_from(["", "<?xml version='1.0'?>", "<?xml version='1.0'?>\n<!-- x -->\n\n"]))
    end = draw(st.sampled_from(["", "\n", "\n<!-- end -->\n\n"]))
    content = before + occurrence + after
    tag = f"<{root}/>" if not content and draw(st.booleans()) else f"<{root}>{content}</{root}>"
    return prolog + tag + end


NODES = st.builds(
    Node, st.sampled_from(["c1", "c2", "c3", "[::1]"]), st.sampled_from(["2181", "2182"]), st.booleans()
)
WANTED = st.builds(
    ElementContent,
    st.lists(NODES, min_size=1, max_size=4, unique_by=lambda node: node.address).map(tuple),
    st.fixed_dictionaries(
        {},
        optional={
            "session_timeout_ms": st.sampled_from(["", "30000"]),
            "root": st.sampled_from(["", "/a", "/a/привет"]),
            "identity": st.sampled_from(["", "u:<&>\"'", "u:€"]),
        },
    ),
)
STYLES = st.sampled_from(["incl", "inline", "drop_in"]).map(
    lambda name: Style(name, SUBSTITUTION, "cold_zookeeper.xml")
)
ENCODINGS = st.sampled_from(sorted(ENCODED)).map(ENCODED.__getitem__)


def other_children(data: bytes, *ours: str) -> list[str]:
    """Return the content without the elements of this collection and the white space beside them."""
    root = etree.fromstring(data)
    for name in ours:
        for each in root.findall(name):
            previous = each.getprevious()
            tail = each.tail or ""
            if previous is None:
                root.text = (root.text or "") + tail
            else:
                previous.tail = (previous.tail or "") + tail
            each.tail = None
            root.remove(each)
    said = ["".join((root.text or "").split())]
    for child in root:
        said += [
            etree.tostring(child, encoding="unicode", with_tail=False),
            "".join((child.tail or "").split()),
        ]
    around = [*root.itersiblings(preceding=True), *root.itersiblings()]
    return [root.tag, *said, *(etree.tostring(each, encoding="unicode", with_tail=False) for each in around)]


def stopped_early(source: MemoryConfig, outcome: ConfigChange) -> list[MemoryConfig]:
    """Return the files after a run that ended between two files."""
    return [
        source.after(outcome._replace(edits=outcome.edits[:count])) for count in range(1, len(outcome.edits))
    ]


@given(documents(st.just("")), st.none() | documents(st.just("")), ENCODINGS, STYLES, WANTED)
@settings(max_examples=100)
def test_present_can_be_undone(
    config: str, metrika: str | None, encode: Callable[[str], bytes], style: Style, desired: ElementContent
) -> None:
    before = MemoryConfig({MAIN: encode(config)})
    if metrika is not None:
        # Not every server version would find a substitution in this file, so none is written.
        roots = tuple(etree.fromstring(text.encode()).tag for text in (config, metrika))
        assume(style.name != "incl" or roots != ("yandex", "clickhouse"))
        before.files[METRIKA] = encode(metrika)

    present = before.after(ensure_present(before, COLD, desired, style))

    for path, data in before.files.items():
        assert other_children(present.files[path], COLD, SUBSTITUTION) == other_children(data)
    assert ensure_present(present, COLD, desired, style).edits == ()
    assert present.after(ensure_absent(present, COLD, style)).files == before.files
    for stopped in stopped_early(before, ensure_present(before, COLD, desired, style)):
        assert stopped.after(ensure_present(stopped, COLD, desired, style)).files == present.files
        assert stopped.after(ensure_absent(stopped, COLD, style)).files == before.files
    for stopped in stopped_early(present, ensure_absent(present, COLD, style)):
        assert stopped.after(ensure_absent(stopped, COLD, style)).files == before.files


@st.composite
def elements(draw: st.DrawFn) -> str:
    """An existing element, as somebody may have written it."""
    gaps = st.sampled_from(["", "\n", "\n    ", "\n        <!-- kept -->\n        ", " <!-- kept -->"])
    inner = draw(st.permutations(draw(st.lists(st.sampled_from(PARTS), max_size=5, unique=True))))
    content = "".join(draw(gaps) + part for part in inner) + draw(gaps)
    return f"<{COLD}/>" if not content and draw(st.booleans()) else f"<{COLD}>{content}</{COLD}>"


PARTS = [
    "<node><host>c1</host></node>",
    '<node index="1"><host>c1</host><port>2181</port></node>',
    '<node index="2">\n  <port>2182</port><!-- kept --><host>c2</host>\n</node>',
    "<node3><host><![CDATA[c3]]></host><secure> true </secure></node3>",
    "<node/>",
    "<root/>",
    "<session_timeout_ms>1<!-- x --></session_timeout_ms>",
    "<identity><![CDATA[u:<&>\"']]></identity>",
    "<operation_timeout_ms>5</operation_timeout_ms>",
    "<zookeeper_load_balancing>random</zookeeper_load_balancing>",
]


def _text(element: etree._Element) -> str:
    return (element.text or "") + "".join(each.tail or "" for each in element)


def nodes_and_rest(data: bytes) -> tuple[Counter[tuple[str, str, bool]], dict[str, str]]:
    """Return the element as a server sees it."""
    element = etree.fromstring(data).find(COLD)
    assert element is not None
    nodes, rest = Counter[tuple[str, str, bool]](), {}
    for child in element.iterchildren("*"):
        text = {each.tag: _text(each) for each in child.iterchildren("*")}
        if child.tag.startswith("node"):
            secure = text.get("secure", "").strip() in ("1", "true")
            nodes[text.get("host", ""), text.get("port", "2181"), secure] += 1
        else:
            rest[child.tag] = _text(child)
    return nodes, rest


@given(documents(elements()), ENCODINGS, STYLES, WANTED)
@settings(max_examples=100)
def test_an_existing_element_is_corrected(
    config: str, encode: Callable[[str], bytes], style: Style, desired: ElementContent
) -> None:
    before = MemoryConfig({MAIN: encode(config)})
    _nodes, rest = nodes_and_rest(before.files[MAIN])

    present = before.after(ensure_present(before, COLD, desired, style))

    data = present.files[MAIN]
    assert other_children(data, COLD) == other_children(before.files[MAIN], COLD)
    expected = {
        name: text
        for name, text in {**rest, **desired.settings}.items()
        if name not in desired.settings or text
    }
    assert nodes_and_rest(data) == (Counter(tuple(node) for node in desired.nodes), expected)
    assert ensure_present(present, COLD, desired, style).edits == ()
    absent = present.after(ensure_absent(present, COLD, style))
    assert other_children(absent.files[MAIN]) == other_children(before.files[MAIN], COLD)
    assert ensure_absent(absent, COLD, style).edits == ()
