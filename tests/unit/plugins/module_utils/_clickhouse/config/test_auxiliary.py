# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An ensemble in <auxiliary_zookeepers>, among others that stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    Style,
    ensure_absent,
    ensure_present,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.files import Config
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    SameEnsemble,
)
from support.files.configs import CONFIG_D, ENCODED, MAIN, METRIKA, MemoryConfig, written

PARENT = "auxiliary_zookeepers"
COLD = f"{PARENT}/cold"
WANTED = ElementContent((Node("c1"), Node("c2", "2281", secure=True)), {"root": "/cold"})
AUTO, INLINE, DROP_IN = (Style(name, PARENT, "auxiliary.xml") for name in ("auto", "inline", "drop_in"))
OTHER = "<other><node><host>o1</host></node><identity>a:b</identity></other>"
ADDED = f"{CONFIG_D}/auxiliary.xml"


def config(text: str, **files: str) -> MemoryConfig:
    found = {f"{CONFIG_D}/{name}.xml": f"<clickhouse>{each}</clickhouse>" for name, each in files.items()}
    found[MAIN] = f"<clickhouse>{text}</clickhouse>"
    return MemoryConfig({path: each.encode() for path, each in found.items()})


def check(before: MemoryConfig, style: Style) -> MemoryConfig:
    """Add the ensemble, check that it is found and nothing else changed, and remove it again."""
    others = [child.content() for each in Config(before).sections(PARENT)[:1] for child in each.children]
    present = before.after(ensure_present(before, COLD, WANTED, style))
    (section, *_more) = Config(present).sections(COLD)
    assert section.has(WANTED)
    (parent, *_more) = Config(present).sections(PARENT)
    assert [child.content() for child in parent.children if child.tag != "cold"] == others
    assert ensure_present(present, COLD, WANTED, style).edits == ()
    assert present.after(ensure_absent(present, COLD, style)).files == before.files
    assert ensure_absent(before, COLD, style).edits == ()
    return present


SHAPES = {
    "nothing": config(""),
    "the root alone": MemoryConfig({MAIN: b"<yandex/>"}),
    "beside hot": config("\n    <zookeeper>\n      <node><host>h</host></node>\n    </zookeeper>\n"),
    "others in config.xml": config(f"\n  <{PARENT}>\n    {OTHER}\n  </{PARENT}>\n"),
    "others in one line": config(f"<{PARENT}>{OTHER}</{PARENT}>"),
    "others in a drop-in": config("<zookeeper/>", aux=f"<{PARENT}>{OTHER}</{PARENT}>"),
    "others in both": config(
        f"<{PARENT}>{OTHER}</{PARENT}>", b=f"<{PARENT}><d><root>/x</root></d></{PARENT}>"
    ),
    "a comment before the end": config(f"<{PARENT}>{OTHER}<!-- end --></{PARENT}>"),
    "the drop-in exists": config("", auxiliary=f"<!-- mine --><{PARENT}>{OTHER}</{PARENT}>"),
    "an optional child": config(f"<{PARENT}>{OTHER}<x incl='x' optional='true'/></{PARENT}>"),
}


@pytest.mark.parametrize("style", [INLINE, DROP_IN, AUTO], ids=lambda style: style.name)
@pytest.mark.parametrize("shape", SHAPES)
def test_put_in_and_taken_out(shape: str, style: Style) -> None:
    check(SHAPES[shape], style)


@pytest.mark.parametrize("encoded", ENCODED)
@pytest.mark.parametrize("name", ["debian.xml", "one_file.xml"])
def test_every_encoding(name: str, encoded: str) -> None:
    check(MemoryConfig({MAIN: ENCODED[encoded](written(name))}), INLINE)


def test_what_is_written() -> None:
    present = check(config("\n  <zookeeper/>\n"), INLINE)
    assert present.files[MAIN].decode() == (
        "<clickhouse>\n  <zookeeper/>\n"
        f"  <{PARENT}>\n    <!-- Added by olap.partmove.clickhouse_config -->\n    <cold>\n"
        '      <node index="1">\n        <host>c1</host>\n        <port>2181</port>\n      </node>\n'
        '      <node index="2">\n        <host>c2</host>\n        <port>2281</port>\n'
        "        <secure>1</secure>\n      </node>\n"
        f"      <root>/cold</root>\n    </cold>\n  </{PARENT}>\n</clickhouse>"
    )


def test_an_existing_ensemble_is_corrected_in_place() -> None:
    existing = "<cold><!-- kept --><node><host>c1</host></node><node><host>gone</host></node></cold>"
    before = config("<zookeeper/>", aux=f"<{PARENT}>{existing}{OTHER}</{PARENT}>")
    present = before.after(ensure_present(before, COLD, WANTED, INLINE))
    assert set(present.files) == set(before.files)
    text = present.files[f"{CONFIG_D}/aux.xml"].decode()
    assert OTHER in text
    assert "<!-- kept --><node><host>c1</host></node>" in text
    assert "gone" not in text
    assert Config(present).sections(COLD)[0].has(WANTED)
    # What somebody else wrote stays when it is empty.
    absent = present.after(ensure_absent(present, COLD, INLINE))
    assert (
        absent.files[f"{CONFIG_D}/aux.xml"].decode()
        == f"<clickhouse><{PARENT}>{OTHER}</{PARENT}></clickhouse>"
    )


@pytest.mark.parametrize(
    ("reference", "meaning"),
    [
        (f"<{PARENT} incl='aux'/>", "<aux><cold><node><host>c9</host></node></cold>" + OTHER + "</aux>"),
        (f"<{PARENT}>{OTHER}<cold incl='c'/></{PARENT}>", "<c><node><host>c9</host></node></c>"),
    ],
)
def test_a_reference_is_followed(reference: str, meaning: str) -> None:
    before = config(reference)
    before.files[METRIKA] = f"<clickhouse>{meaning}</clickhouse>".encode()
    change = ensure_present(before, COLD, WANTED, INLINE)
    assert (change.style, change.substitutions_path) == ("incl", METRIKA)
    present = before.after(change)
    assert present.files[MAIN] == before.files[MAIN]
    assert Config(present).sections(COLD)[0].has(WANTED)
    absent = present.after(ensure_absent(present, COLD, INLINE))
    assert Config(absent).sections(COLD) == []
    others = [child.tag for child in Config(absent).sections(PARENT)[0].children]
    assert others == ["other"]


@pytest.mark.parametrize(
    ("before", "style", "words"),
    [
        (config(f"<{PARENT}/>"), INLINE, "is empty"),
        (config(f"<{PARENT} from_env='X'/>"), DROP_IN, "only the server can resolve"),
        (config("", zz=f"<{PARENT} replace='1'>{OTHER}</{PARENT}>"), INLINE, "would not find"),
        (config("", zz=f"<{PARENT} a='1'>{OTHER}</{PARENT}>"), INLINE, "without changing its siblings"),
        (config(f"<{PARENT} a='1'>{OTHER}</{PARENT}>"), DROP_IN, "would not find"),
        (config(f"<{PARENT}><cold from_env='X'/></{PARENT}>"), DROP_IN, "from_env"),
        (config(f"<{PARENT}><cold/><cold/></{PARENT}>"), DROP_IN, "exists 2 times"),
        (config(""), Style("incl", PARENT, "a.xml"), "cannot be written as a reference"),
    ],
)
def test_refusals(before: MemoryConfig, style: Style, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        ensure_present(before, COLD, WANTED, style)


def test_hot_is_another_ensemble() -> None:
    before = config("<zookeeper><node><host>c1</host></node></zookeeper>")
    with pytest.raises(SameEnsemble, match="<auxiliary_zookeepers><cold>"):
        ensure_present(before, COLD, WANTED, DROP_IN)


def test_one_of_several_is_taken_out() -> None:
    existing = f"<{PARENT}>{OTHER}<cold><node><host>c1</host></node></cold><third/></{PARENT}>"
    before = config(existing, aux=f"<{PARENT}><cold><root>/r</root></cold></{PARENT}>")
    absent = before.after(ensure_absent(before, COLD, DROP_IN))
    assert Config(absent).sections(COLD) == []
    assert absent.files[MAIN].decode() == f"<clickhouse><{PARENT}>{OTHER}<third/></{PARENT}></clickhouse>"


GAPS = st.sampled_from(["", "\n", "\n    ", " ", "\n    <!-- x -->\n  "])
CHILDREN = st.sampled_from([OTHER, "<cold2/>", "<colder><node/></colder>", "<x incl='y' optional='1'/>"])


@st.composite
def parents(draw: st.DrawFn) -> str:
    inner = [draw(GAPS) + child for child in draw(st.lists(CHILDREN, min_size=1, max_size=3, unique=True))]
    return f"<{PARENT}>{''.join(inner)}{draw(GAPS)}</{PARENT}>"


@given(st.none() | parents(), st.none() | parents(), GAPS, GAPS, st.sampled_from([INLINE, DROP_IN]))
@settings(max_examples=100)
def test_siblings_stay(main: str | None, dropped: str | None, before: str, after: str, style: Style) -> None:
    files = {} if dropped is None else {"aux": dropped}
    present = check(config(before + (main or "") + after, **files), style)
    for path, data in present.files.items():
        assert etree.fromstring(data).tag == "clickhouse", path
