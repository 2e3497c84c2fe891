# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Edits of configurations as people write them: changed lines, unchanged lines and refusals."""

from __future__ import annotations

import difflib
import re

import pytest
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
    PartMoveError,
    SameEnsemble,
)
from support.files.configs import ENCODED, MAIN, METRIKA, WRITTEN, MemoryConfig, written

COLD = "cold_zookeeper"
NODES = (Node("c1"), Node("c2", "2281"), Node("c3", "2282", secure=True))
WANTED = ElementContent(NODES, {"session_timeout_ms": "30000", "root": "/cold", "identity": "u:<&>"})
STYLES = {
    name: Style(name, "cold-zookeeper-servers", f"{COLD}.xml") for name in ("incl", "inline", "drop_in")
}
STYLE = Style("auto", "cold-zookeeper-servers", f"{COLD}.xml")
CONFIGS = [name for name in WRITTEN if not name.startswith("metrika")]
DROP_IN = "/etc/clickhouse-server/config.d/cold_zookeeper.xml"


def said(source: MemoryConfig, element: str = COLD) -> list[tuple[str, str]]:
    """Return the leaves of the element as a server finds them, with their paths."""
    found = None
    for path in [MAIN, *source.drop_ins()]:
        for each in etree.fromstring(source.files[path]).findall(element):
            assert found is None
            found = each
    assert found is not None
    if name := found.get("incl"):
        found = etree.fromstring(source.files[METRIKA]).find(name)
        assert found is not None
    return [
        (inner.tag if inner is child else f"{child.tag}/{inner.tag}", inner.text or "")
        for child in found.iterchildren("*")
        for inner in child.iter("*")
        if len(inner) == 0
    ]


SAID = [
    ("node/host", "c1"),
    ("node/port", "2181"),
    ("node/host", "c2"),
    ("node/port", "2281"),
    ("node/host", "c3"),
    ("node/port", "2282"),
    ("node/secure", "1"),
    ("session_timeout_ms", "30000"),
    ("root", "/cold"),
    ("identity", "u:<&>"),
]


def changed_lines(before: bytes, after: bytes) -> list[str]:
    lines = difflib.ndiff(before.decode().splitlines(), after.decode().splitlines())
    return [line for line in lines if line.startswith(("+", "-"))]


@pytest.mark.parametrize("encoded", ENCODED)
@pytest.mark.parametrize("metrika", ["", "metrika.xml", "metrika_empty.xml"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("config", CONFIGS)
def test_present_then_again_then_absent(config: str, style: str, metrika: str, encoded: str) -> None:
    encode = ENCODED[encoded]
    before = MemoryConfig({MAIN: encode(written(config))})
    if metrika:
        before.files[METRIKA] = encode(written(metrika))

    outcome = ensure_present(before, COLD, WANTED, STYLES[style])
    present = before.after(outcome)

    assert outcome.edits
    assert said(present) == SAID
    again = ensure_present(present, COLD, WANTED, STYLES["inline"])
    assert (again.edits, again.style, again.nodes) == ((), style, NODES)
    assert present.after(ensure_absent(present, COLD, STYLES["incl"])).files == before.files
    assert ensure_absent(before, COLD, STYLES["incl"]).edits == ()


def test_the_lines_that_are_added_to_debians_file() -> None:
    before = MemoryConfig({MAIN: written("debian.xml").encode(), METRIKA: written("metrika.xml").encode()})
    outcome = ensure_present(before, COLD, ElementContent((Node("c1"),)), STYLES["incl"])
    assert [edit.path for edit in outcome.edits] == [METRIKA, MAIN]
    substitutions, config = (changed_lines(edit.before or b"", edit.after or b"") for edit in outcome.edits)
    assert config == [
        (
            '+     <cold_zookeeper incl="cold-zookeeper-servers" optional="true">'
            "<!-- Added by olap.partmove.clickhouse_config --></cold_zookeeper>"
        )
    ]
    assert substitutions == [
        "+ <cold-zookeeper-servers>",
        "+     <!-- Added by olap.partmove.clickhouse_config -->",
        '+     <node index="1">',
        "+         <host>c1</host>",
        "+         <port>2181</port>",
        "+     </node>",
        "+ </cold-zookeeper-servers>",
    ]
    lines = (outcome.edits[1].after or b"").decode().splitlines()
    assert (
        lines[lines.index(config[0][2:]) - 1].strip()
        == '<zookeeper incl="zookeeper-servers" optional="true" />'
    )
    # The reference goes first when they are taken away.
    removed = ensure_absent(before.after(outcome), COLD, STYLES["incl"])
    assert [edit.path for edit in removed.edits] == [MAIN, METRIKA]


def test_only_the_lines_that_must_change() -> None:
    text = written("one_file.xml")
    before = MemoryConfig({MAIN: text.encode()})
    nodes = (Node("zk4"), Node("zk2"), Node("zk3"))
    desired = ElementContent(nodes, {"session_timeout_ms": "20000", "identity": "", "root": "/hot"})
    outcome = ensure_present(before, "zookeeper", desired, STYLES["incl"])
    assert (outcome.style, outcome.path) == ("inline", MAIN)
    assert changed_lines(outcome.edits[0].before or b"", outcome.edits[0].after or b"") == [
        '-     <node index="1"><host>zk1</host><port>2181</port></node>',
        '+     <node index="1">',
        "+       <host>zk4</host>",
        "+       <port>2181</port>",
        "+     </node>",
        "-     <session_timeout_ms>30000</session_timeout_ms>",
        "+     <session_timeout_ms>20000</session_timeout_ms>",
        "-     <identity>clickhouse:a &amp; b</identity>",
        "+     <root>/hot</root>",
    ]
    after = before.after(outcome)
    assert said(after, "zookeeper")[-2:] == [("session_timeout_ms", "20000"), ("root", "/hot")]
    assert ensure_present(after, "zookeeper", desired, STYLES["incl"]).edits == ()


def test_existing_elements_stay_in_place() -> None:
    """A substitution with a name of its own, in a file of its own, referred to from a drop-in."""
    own = "/etc/clickhouse-server/substitutions.xml"
    before = MemoryConfig(
        {
            MAIN: written("debian.xml").encode(),
            "/etc/clickhouse-server/conf.d/10.xml": (
                f"<yandex><include_from>{own}</include_from><{COLD} incl='far-away'/></yandex>".encode()
            ),
            own: b"<yandex><far-away><node><host>c9</host></node></far-away></yandex>",
        }
    )
    outcome = ensure_present(before, COLD, ElementContent((Node("c9"), Node("c1"))), STYLES["inline"])
    assert [edit.path for edit in outcome.edits] == [own]
    assert (outcome.style, outcome.substitution, outcome.substitutions_path) == ("incl", "far-away", own)
    assert before.after(outcome).files[own] == (
        b"<yandex><far-away><node><host>c9</host></node>\n"
        b'    <node index="1">\n        <host>c1</host>\n        <port>2181</port>\n    </node>'
        b"</far-away></yandex>"
    )


def test_an_earlier_reference_without_a_value_stays() -> None:
    """As Debian's own <zookeeper incl="zookeeper-servers" optional="true" />."""
    before = MemoryConfig({MAIN: written("debian.xml").encode()})
    style = Style("incl", "zookeeper-servers", "zookeeper.xml")
    present = before.after(ensure_present(before, "zookeeper", WANTED, style))
    assert present.files[MAIN] == before.files[MAIN]
    assert said(present, "zookeeper") == SAID
    assert present.after(ensure_absent(present, "zookeeper", style)).files == before.files


def test_an_earlier_substitution_without_a_reference_stays() -> None:
    substitutions = rf"<yandex><cold-zookeeper-servers>{NODE.format('c1')}</cold-zookeeper-servers></yandex>"
    before = MemoryConfig({MAIN: written("debian.xml").encode(), METRIKA: substitutions.encode()})
    outcome = ensure_present(before, COLD, ElementContent((Node("c1"),)), STYLES["incl"])
    assert [edit.path for edit in outcome.edits] == [MAIN]
    present = before.after(outcome)
    assert present.after(ensure_absent(present, COLD, STYLES["incl"])).files == before.files


@pytest.mark.parametrize("optional", ["", " optional='1'"])
def test_an_element_of_somebody_else_is_removed(optional: str) -> None:
    config = f"<yandex>\n  <a/>\n  <{COLD} incl='x'{optional}/>\n</yandex>\n"
    substitutions = f"<yandex>\n<b/>\n<x>{NODE.format('c1')}</x>\n</yandex>"
    before = MemoryConfig({MAIN: config.encode(), METRIKA: substitutions.encode()})
    after = before.after(ensure_absent(before, COLD, STYLES["incl"]))
    assert after.files[METRIKA] == b"<yandex>\n<b/>\n</yandex>"
    # The server leaves out an optional element that means nothing.
    assert (after.files[MAIN] == before.files[MAIN]) == bool(optional)
    assert ensure_absent(after, COLD, STYLES["incl"]).edits == ()


def test_other_elements_of_a_drop_in_stay() -> None:
    drop_in = b"<yandex>\n  <!-- mine -->\n  <b/>\n</yandex>"
    before = MemoryConfig({MAIN: written("debian.xml").encode(), DROP_IN: drop_in})
    present = before.after(ensure_present(before, COLD, WANTED, STYLES["drop_in"]))
    assert said(present) == SAID
    assert present.after(ensure_absent(present, COLD, STYLES["incl"])).files == before.files


NODE = "<node><host>{}</host><port>2181</port></node>"
MEMBER, OTHER_MEMBER = NODE.format("c1"), NODE.format("c9")
REFUSED = {
    "not well-formed": ({MAIN: b"<yandex><a></yandex>"}, "is not well-formed XML: line 1: mismatched tag"),
    "undeclared prefix": (
        {MAIN: b"<yandex><x:a/></yandex>"},
        "is not well-formed XML: line 1: unbound prefix",
    ),
    "empty": ({MAIN: b""}, "is not well-formed XML: line 1: no element found"),
    "missing": ({}, "does not exist. Give the path of the config.xml"),
    "root": ({MAIN: b"<company/>"}, "has the root <company>, where no server searches for <include_from>"),
    "external entity": (
        {MAIN: b'<!DOCTYPE yandex [<!ENTITY x SYSTEM "file:///etc/shadow">]><yandex>&x;</yandex>'},
        "declares the entity x. It could refer to other files",
    ),
    "entity bomb": (
        {
            MAIN: b'<!DOCTYPE yandex [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">'.encode() for n in range(1, 12))
            + b"]><yandex>&a11;</yandex>"
        },
        "declares the entity a. It could refer to other files or to endless text",
    ),
    "parameter entity": (
        {MAIN: b'<!DOCTYPE yandex [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;]><yandex/>'},
        "declares the entity x",
    ),
    "external definition": (
        {MAIN: b'<!DOCTYPE yandex SYSTEM "yandex.dtd"><yandex/>'},
        "refers to a document type definition outside of it",
    ),
    "document type": (
        {MAIN: b'<!DOCTYPE yandex [<!ATTLIST yandex a CDATA "b">]><yandex/>'},
        "declares a document type of its own",
    ),
    "encoding": ({MAIN: b'<?xml version="1.0" encoding="GBK"?><yandex/>'}, "in the encoding GBK"),
    "UTF-32": ({MAIN: "<yandex/>".encode("utf-32")}, "in the encoding UTF-32"),
    "no UTF-16": ({MAIN: b'<?xml version="1.0" encoding="UTF-16"?><yandex/>'}, "in the encoding UTF-16"),
    "other bytes": ({MAIN: b"<yandex>\xff</yandex>"}, "has bytes that are not utf-8"),
    "odd surrogate": (
        {MAIN: "\ufeff<yandex/>".encode("utf-16-le") + b"\x00"},
        "has bytes that are not utf-16-le",
    ),
    "twice in a file": (
        {MAIN: f"<yandex>\n\n<{COLD}>{OTHER_MEMBER}</{COLD}>\n<{COLD} incl='x'/></yandex>".encode()},
        f"<{COLD}> exists 2 times: in {MAIN} line 3 and in {MAIN} line 4",
    ),
    "twice in two files": (
        {
            MAIN: f"<yandex>\r<{COLD}>{OTHER_MEMBER}</{COLD}></yandex>".encode(),
            DROP_IN: f"<yandex><{COLD}>{MEMBER}</{COLD}></yandex>".encode(),
        },
        f"<{COLD}> exists 2 times: in {MAIN} line 2 and in {DROP_IN} line 1",
    ),
    "YAML": (
        {MAIN: b"<clickhouse/>", "/etc/clickhouse-server/config.d/a.yaml": b"cold_zookeeper:\n  node: c1\n"},
        "/etc/clickhouse-server/config.d/a.yaml is YAML, which is read here and not edited",
    ),
    "broken drop-in": (
        {MAIN: b"<yandex/>", "/etc/clickhouse-server/conf.d/a.xml": b"<yandex>"},
        "/etc/clickhouse-server/conf.d/a.xml is not well-formed XML",
    ),
    "broken substitutions": ({MAIN: b"<yandex/>", METRIKA: b"<x/>"}, f"{METRIKA} has the root element <x>"),
    "substitutions with another root": (
        {MAIN: b"<yandex/>", METRIKA: b"<clickhouse/>"},
        f"{METRIKA} has the root <clickhouse>, where older servers find no substitution for <yandex>",
    ),
    "substitution twice": (
        {
            MAIN: b"<yandex/>",
            METRIKA: b"<yandex><cold-zookeeper-servers/><cold-zookeeper-servers/></yandex>",
        },
        f"{METRIKA} has <cold-zookeeper-servers> 2 times",
    ),
    "substitution of another": (
        {MAIN: b"<yandex><x incl='cold-zookeeper-servers'/></yandex>"},
        "The substitution cold-zookeeper-servers is used by another element",
    ),
    "include_from": (
        {MAIN: b"<yandex><include_from from_env='X'/></yandex>"},
        f"<include_from> in {MAIN} line 1 has the attribute from_env, which only the server can resolve",
    ),
    "include_from relative": (
        {MAIN: b"<yandex><include_from>a.xml</include_from></yandex>"},
        f"<include_from> in {MAIN} line 1 depends on the folder that the server is started in. Write it",
    ),
    "include_from nothing": (
        {MAIN: b"<yandex><include_from/></yandex>"},
        f"<include_from> in {MAIN} is empty. Write it with the whole path",
    ),
    "from ZooKeeper": (
        {MAIN: f"<yandex><{COLD} from_zk='/x'/></yandex>".encode()},
        "has the attribute from_zk",
    ),
    "removed by a drop-in": (
        {MAIN: b"<yandex/>", DROP_IN: f"<yandex>\n<{COLD} optional='true' remove='1'/></yandex>".encode()},
        f"not find the desired <{COLD}>, because of {DROP_IN} line 2",
    ),
    "incl and more": (
        {MAIN: f"<yandex><{COLD} incl='x'>{MEMBER}</{COLD}></yandex>".encode()},
        "has incl and also elements of its own",
    ),
    "node from elsewhere": (
        {MAIN: f"<yandex><{COLD}><node><host from_env='H'/></node></{COLD}></yandex>".encode()},
        "<host> in /etc/clickhouse-server/config.xml has the attribute from_env",
    ),
    "setting twice": (
        {MAIN: f"<yandex><{COLD}><root>/a</root><root>/b</root></{COLD}></yandex>".encode()},
        f"<{COLD}> in {MAIN} has <root> 2 times",
    ),
    "ended with a mark": ({MAIN: b"<yandex></yandex >"}, "is empty but for </yandex >"),
    "a member of hot": (
        {MAIN: b"<yandex><zookeeper><node><host>C1</host></node></zookeeper></yandex>"},
        f"c1:2181 is to be in <{COLD}> and is in <zookeeper> already. Hot and cold must be two ensembles",
    ),
    "a member of hot, included": (
        {
            MAIN: b"<yandex><zookeeper incl='z'/></yandex>",
            METRIKA: f"<yandex><z>{NODE.format('c2')}{MEMBER}</z></yandex>".encode(),
        },
        f"c1:2181 is to be in <{COLD}> and is in <zookeeper> already",
    ),
}


@pytest.mark.parametrize(("files", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refusals(files: dict[str, bytes], sentence: str) -> None:
    desired = ElementContent((Node("c1"),), {"root": "/cold"})
    with pytest.raises(PartMoveError) as caught:
        ensure_present(MemoryConfig(files), COLD, desired, STYLES["incl"])
    assert sentence in str(caught.value)
    assert re.fullmatch(r"[^\n]+\. [^\n]+\.", str(caught.value))


ZOOKEEPERS = {
    "a section in a drop-in beside an optional reference": {
        MAIN: b"<yandex>\n  <zookeeper incl='zookeeper-servers' optional='true' />\n</yandex>",
        DROP_IN: f"<yandex><zookeeper>{OTHER_MEMBER}</zookeeper></yandex>".encode(),
    },
    "replaced by a drop-in": {
        MAIN: f"<yandex><zookeeper>{MEMBER}</zookeeper></yandex>".encode(),
        DROP_IN: f"<yandex><zookeeper replace='1'>{OTHER_MEMBER}</zookeeper></yandex>".encode(),
    },
    "taken out by a drop-in": {
        MAIN: f"<yandex><zookeeper>{MEMBER}</zookeeper></yandex>".encode(),
        DROP_IN: b"<yandex><zookeeper remove='1'/></yandex>",
    },
    "in several files": {
        MAIN: f"<yandex><zookeeper>{OTHER_MEMBER}</zookeeper></yandex>".encode(),
        DROP_IN: b"<yandex><zookeeper><root>/x</root></zookeeper></yandex>",
    },
    "another root": {MAIN: f"<company><zookeeper>{OTHER_MEMBER}</zookeeper></company>".encode()},
    "a relative file of substitutions": {
        MAIN: b"<yandex><include_from>x.xml</include_from><zookeeper incl='z'/></yandex>"
    },
    "substitutions in a drop-in": {
        MAIN: f"<yandex><include_from>{DROP_IN}</include_from><zookeeper incl='z'/></yandex>".encode(),
        DROP_IN: f"<yandex><z>{OTHER_MEMBER}</z></yandex>".encode(),
    },
    "a file of substitutions that the environment names": {
        MAIN: b"<yandex><include_from from_env='X'/><zookeeper incl='z' optional='1'/></yandex>"
    },
    "substitutions in the same file": {
        MAIN: (
            f"<yandex><include_from>{MAIN}</include_from><zookeeper incl='z'/><z>{OTHER_MEMBER}</z></yandex>"
        ).encode()
    },
    "a host of the environment": {
        MAIN: b"<yandex><zookeeper><node><host from_env='H'/></node></zookeeper></yandex>"
    },
    "from ZooKeeper": {MAIN: b"<yandex><zookeeper from_zk='/z' optional='1'/></yandex>"},
    "no file of substitutions": {MAIN: b"<yandex><include_from/></yandex>"},
}
"""Shapes of <zookeeper> that servers read, none of which has the member c1 for them."""
FROM_ENV = "has the attribute from_env, which only the server can resolve."


@pytest.mark.parametrize("style", ["auto", "inline", "drop_in"])
@pytest.mark.parametrize("files", ZOOKEEPERS.values(), ids=ZOOKEEPERS)
def test_any_hot_ensemble_lets_a_cold_one_in_and_out(files: dict[str, bytes], style: str) -> None:
    before = MemoryConfig(files)
    how = Style(style, "cold-zookeeper-servers", "zz.xml")
    desired = ElementContent((Node("c1"),))
    present = before.after(ensure_present(before, COLD, desired, how))
    assert ensure_present(present, COLD, desired, how).edits == ()
    (section,) = Config(present).sections(COLD)
    assert section.nodes() == [Node("c1")]
    assert present.after(ensure_absent(present, COLD, how)).files == before.files
    assert ensure_absent(before, COLD, how).edits == ()


def test_members_that_cannot_be_compared_are_reported() -> None:
    problems = {
        name: ensure_present(
            MemoryConfig(files), COLD, ElementContent((Node("c1"),)), STYLES["drop_in"]
        ).unknown
        for name, files in ZOOKEEPERS.items()
    }
    start = f"Not every member of <zookeeper> was compared with those of <{COLD}>: "
    assert {name: sentences for name, sentences in problems.items() if sentences} == {
        "a relative file of substitutions": (
            f"{start}<include_from> in {MAIN} line 1 depends on the folder that the server is started in.",
        ),
        "a file of substitutions that the environment names": (
            f"{start}<include_from> in {MAIN} line 1 {FROM_ENV}",
        ),
        "a host of the environment": (f"{start}<host> in {MAIN} line 1 {FROM_ENV}",),
        "from ZooKeeper": (f"{start}<zookeeper> in {MAIN} line 1 {FROM_ENV.replace('from_env', 'from_zk')}",),
    }


@pytest.mark.parametrize(
    ("main", "style"),
    [
        ("<yandex/>", "incl"),
        ("<clickhouse/>", "drop_in"),
        ("<company/>", "drop_in"),
        ("<yandex><include_from/></yandex>", "drop_in"),
        ("<yandex><include_from>a.xml</include_from></yandex>", "drop_in"),
        ("<yandex><include_from>/etc/a.xml</include_from></yandex>", "incl"),
    ],
)
def test_by_default_substitutions_are_used_where_every_server_finds_them(main: str, style: str) -> None:
    outcome = ensure_present(MemoryConfig({MAIN: main.encode()}), COLD, WANTED, STYLE)
    assert outcome.style == style


def test_substitutions_with_another_root_are_not_used_by_default() -> None:
    files = {MAIN: b"<yandex/>", METRIKA: b"<clickhouse/>"}
    assert ensure_present(MemoryConfig(files), COLD, WANTED, STYLE).style == "drop_in"


def test_a_reference_without_a_value_yields_to_the_section_that_counts() -> None:
    before = MemoryConfig(ZOOKEEPERS["a section in a drop-in beside an optional reference"])
    changed = ensure_present(before, "zookeeper", ElementContent((Node("c9", "99"),)), STYLES["incl"])
    assert (changed.style, changed.path, [edit.path for edit in changed.edits]) == (
        "drop_in",
        DROP_IN,
        [DROP_IN],
    )
    absent = before.after(ensure_absent(before, "zookeeper", STYLES["incl"]))
    assert absent.files == {MAIN: before.files[MAIN], DROP_IN: b"<yandex></yandex>"}


def test_the_section_that_replaces_another_is_the_one_to_change() -> None:
    before = MemoryConfig(ZOOKEEPERS["replaced by a drop-in"])
    changed = ensure_present(before, "zookeeper", ElementContent((Node("c9", "99"),)), STYLES["incl"])
    assert [edit.path for edit in changed.edits] == [DROP_IN]
    # Without the one that replaces it the other would count again.
    absent = before.after(ensure_absent(before, "zookeeper", STYLES["incl"]))
    assert absent.files == {MAIN: b"<yandex></yandex>", DROP_IN: b"<yandex></yandex>"}


def test_sections_that_together_have_the_desired_content_stay() -> None:
    before = MemoryConfig(ZOOKEEPERS["in several files"])
    desired = ElementContent((Node("c9"),), {"root": "/x"})
    assert ensure_present(before, "zookeeper", desired, STYLE).edits == ()
    with pytest.raises(PartMoveError, match=f"exists 2 times: in {MAIN} line 1 and in {DROP_IN} line 1"):
        ensure_present(before, "zookeeper", ElementContent((Node("c9"),), {"root": "/y"}), STYLE)


@pytest.mark.parametrize("name", ZOOKEEPERS)
def test_any_shape_can_be_removed(name: str) -> None:
    before = MemoryConfig(ZOOKEEPERS[name])
    absent = before.after(ensure_absent(before, "zookeeper", STYLE))
    assert Config(absent).sections("zookeeper") == []


def test_members_of_hot_are_compared_wherever_they_are() -> None:
    for name in ("substitutions in a drop-in", "in several files", "replaced by a drop-in", "another root"):
        with pytest.raises(SameEnsemble):
            ensure_present(MemoryConfig(ZOOKEEPERS[name]), COLD, ElementContent((Node("c9"),)), STYLE)


YAML_MAIN = "/etc/clickhouse-server/config.yaml"


def test_a_configuration_in_yaml_gets_a_drop_in() -> None:
    text = "# The zookeeper of cold_zookeeper\nzookeeper:\n  node:\n    - host: zk1\n    - host: c9\n"
    before = MemoryConfig({YAML_MAIN: text.encode()}, YAML_MAIN)
    outcome = ensure_present(before, COLD, WANTED, STYLE)
    present = before.after(outcome)
    assert [edit.path for edit in outcome.edits] == [DROP_IN]
    assert b"<clickhouse>\n    <cold_zookeeper>" in present.files[DROP_IN]
    assert ensure_present(present, COLD, WANTED, STYLE).edits == ()
    assert present.after(ensure_absent(present, COLD, STYLE)).files == before.files
    with pytest.raises(SameEnsemble, match="c9:2181 is to be in"):
        ensure_present(before, COLD, ElementContent((Node("c9"),)), STYLE)
    for style in ("incl", "inline"):
        with pytest.raises(PartMoveError, match=f"{YAML_MAIN} is YAML, which is read here and not edited"):
            ensure_present(before, COLD, WANTED, STYLES[style])


def test_a_plain_document_type_is_no_reason_to_refuse() -> None:
    before = MemoryConfig({MAIN: b"<!DOCTYPE yandex>\n<yandex>\n</yandex>"})
    present = before.after(ensure_present(before, COLD, WANTED, STYLES["inline"]))
    assert said(present) == SAID
    assert present.after(ensure_absent(present, COLD, STYLES["incl"])).files == before.files


def test_a_shared_substitution_is_not_split() -> None:
    files = {
        MAIN: f"<yandex><{COLD} incl='x' optional='1'/><y incl='x'/></yandex>".encode(),
        METRIKA: f"<yandex><x>{MEMBER}</x></yandex>".encode(),
    }
    with pytest.raises(PartMoveError, match="takes its value from x, which another element uses as well"):
        ensure_absent(MemoryConfig(files), COLD, STYLES["incl"])


def test_names_that_cannot_be_written() -> None:
    with pytest.raises(PartMoveError, match="substitution is 'a b', which is not the name"):
        Style("incl", "a b", "x.xml")
    for name in ("../x.xml", "x.txt", ".x.xml", ""):
        with pytest.raises(PartMoveError, match="which is not the name of a file that ClickHouse merges"):
            Style("drop_in", "a", name)


def test_members_that_differ_in_the_port_only_are_different() -> None:
    config = "<yandex><zookeeper><node><host>c1</host></node></zookeeper></yandex>"
    outcome = ensure_present(
        MemoryConfig({MAIN: config.encode()}), COLD, ElementContent((Node("c1", "1"),)), STYLES["inline"]
    )
    assert outcome.nodes == (Node("c1", "1"),)


def test_equal_members_are_one_ensemble() -> None:
    config = f"<yandex><{COLD}>{MEMBER}</{COLD}></yandex>"
    with pytest.raises(SameEnsemble):
        ensure_present(
            MemoryConfig({MAIN: config.encode()}),
            "zookeeper",
            ElementContent((Node("c1"),)),
            STYLES["inline"],
        )
