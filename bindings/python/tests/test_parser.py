"""The parser: the vectors of the corpus, equal to what Rust writes, however they are cut."""

import json
from types import MappingProxyType

import pytest

from gadgetry import ConfigError, Gadget, Parser, SchemaError
from gadgetry._gadgetry import parse_json
from gadgetry._names import snake
from gadgetry.parser import (
    ArgumentDelta,
    Call,
    CallStart,
    ParserDiagnostic,
    Tag,
    TagDelta,
    TagEnd,
    TagStart,
    Text,
    instructions,
    write_call,
)

KINDS = {
    "text": Text,
    "gadget_call_start": CallStart,
    "gadget_args_partial": ArgumentDelta,
    "gadget_call": Call,
    "custom_block_start": TagStart,
    "custom_block_delta": TagDelta,
    "custom_block_end": TagEnd,
    "custom_block": Tag,
    "diagnostic": ParserDiagnostic,
}

FIELDS = {
    "gadgetName": "name",
    "invocationId": "id",
    "fieldPath": "pointer",
    "isFieldComplete": "is_complete",
    "parametersRaw": "raw",
    "parameters": "parameters",
    "parseError": "error",
    "terminatedBy": "terminated_by",
    "attrs": "attributes",
    "selfClosing": "is_self_closing",
    "blockId": "block",
}

DEFAULTS = {"Call": {"parameters": None, "error": None}, "Tag": {"is_self_closing": False}}


def expected(line):
    """What an event of Rust's JSON is in Python, as its class and its fields."""
    event = json.loads(line)
    cls = KINDS[event.pop("type")]
    span = event.pop("span", None)
    fields = dict(DEFAULTS.get(cls.__name__, {}))
    for name, value in event.items():
        name = FIELDS.get(name, name)
        if name in ("terminated_by", "reason"):
            value = snake(value)
        if name == "block":
            value = int(value.removeprefix("block_"))
        if name == "dependencies":
            value = tuple(value)
        fields[name] = value
    if span:
        fields |= span
    return cls, fields


def found(event):
    return type(event), {name: getattr(event, name) for name in event.__match_args__}


def cuts(chunks):
    """The same text in several pieces."""
    text = "".join(chunks)
    yield chunks
    yield [text]
    yield list(text)
    yield [text[at : at + 3] for at in range(0, len(text), 3)]
    yield [text[:1], text[1:]]


def vectors(root):
    """Every text of the corpus, with the options of its parser."""
    blocks = json.loads((root / "corpus/block-vectors.json").read_text())
    for vector in blocks["vectors"]:
        given = vector["input"]
        if "chunks" in given:
            own = given.get("options", {})
            options = {}
            if own:
                names = ("startPrefix", "endPrefix", "argPrefix")
                standard = ("!!!GADGET_START:", "!!!GADGET_END", "!!!ARG:")
                options["markers"] = tuple(own.get(name, default) for name, default in zip(names, standard, strict=True))
            yield vector["id"], given["chunks"], options
        if "args" in given:
            block = "!!!GADGET_START:Cook:k\n"
            for pointer, value in given["args"]:
                block += f"!!!ARG:{pointer}\n" + ("" if value is None else f"{value}\n")
            yield vector["id"], [block + "!!!GADGET_END"], {}
        for number, response in enumerate(given.get("responses", [])):
            # Numbers are pauses.
            chunks = [part for part in response if isinstance(part, str)] if isinstance(response, list) else [response]
            yield f"{vector['id']}.{number}", chunks, {}
    tags = json.loads((root / "corpus/tag-vectors.json").read_text())
    for vector in tags["parser"]:
        # Names that no tag can have are refused; a test of their own is below.
        names = [name for name in vector["tags"] if name.replace("-", "_").isidentifier()]
        yield vector["id"], vector["chunks"], {"tags": names}
    for vector in tags["pipeline"]:
        texts = [delta["delta"] for delta in vector["deltas"] if delta["type"] == "text"]
        names = [block.get("tag", key) for key, block in vector["custom_blocks"].items()]
        yield vector["id"], texts, {"tags": names}
        yield vector["id"] + " as reasoning", texts, {"reasoning": names}
    for number, dialect in enumerate(json.loads((root / "corpus/dialects.json").read_text())):
        form = dialect["form"].replace("{text}", '"a <b>"').replace("{n}", "7")
        yield f"dialect {number}", [form], {"tags": ["tool_call", "Calc"]}


def test_corpus(root):
    checked = 0
    for name, chunks, options in vectors(root):
        for cut in cuts(chunks):
            parser = Parser(**options)
            events = [event for chunk in cut for event in parser.feed(chunk)] + parser.finish()
            lines = parse_json(cut, **options).splitlines()
            assert [found(event) for event in events] == [expected(line) for line in lines], (name, cut)
            checked += 1
        line_start = Parser(**options, anchoring="line_start")
        events = line_start.feed("".join(chunks)) + line_start.finish()
        lines = parse_json(["".join(chunks)], **options, anchoring="line_start").splitlines()
        assert [found(event) for event in events] == [expected(line) for line in lines], name
        checked += 1
    assert checked >= 300, checked


DEVIATIONS = {"C01": {"a": 12, "b": -8, "c": "2.50", "d": True, "e": False}, "C02": {"zip": "00731"}}


def test_expectations_of_the_corpus(root):
    """The calls of the vectors that are to be matched, as the file has them."""
    blocks = json.loads((root / "corpus/block-vectors.json").read_text())["vectors"]
    checked = 0
    for vector in blocks:
        # A number whose digits would be lost stays text, see "Numbers" in ARCHITECTURE.md.
        if vector["id"] in DEVIATIONS:
            vector["expect"]["params"] = DEVIATIONS[vector["id"]]
        if vector["area"] != "params" or vector["recommend"] != "match" or "params" not in vector["expect"]:
            continue
        block = "!!!GADGET_START:Cook:k\n"
        for pointer, value in vector["input"]["args"]:
            block += f"!!!ARG:{pointer}\n" + ("" if value is None else f"{value}\n")
        calls = [event for event in Parser().feed(block + "!!!GADGET_END") if isinstance(event, Call)]
        assert [call.parameters for call in calls] == [vector["expect"]["params"]], vector["id"]
        checked += 1
    assert checked >= 8, checked


def test_patterns_and_equality():
    parser = Parser()
    events = parser.feed("Hi\n!!!GADGET_START:Add:sum:a,b\n!!!ARG:n\n2\n!!!GADGET_END\n") + parser.finish()
    calls = []
    for event in events:
        match event:
            case Text(text):
                assert text == "Hi\n"
            case Call(name=name, id=id, dependencies=dependencies, parameters=parameters, error=None):
                calls.append((name, id, dependencies, parameters))
            case CallStart() | ArgumentDelta():
                pass
            case other:
                raise AssertionError(other)
    assert calls == [("Add", "sum", ("a", "b"), {"n": 2})]
    again = Parser().feed("Hi\n")
    assert again == [events[0]]
    assert again != [events[1]]
    assert repr(events[0]) == "Text(text='Hi\\n')"
    with pytest.raises(AttributeError):
        events[0].text = "No"


def test_schemas_give_values_their_types():
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}
    text = "!!!GADGET_START:Find\n!!!ARG:code\n007\n!!!GADGET_END"
    parsers = [Parser(schemas={"find": schema}), Parser()]
    found = [parser.feed(text.replace("007", "7"))[-1].parameters for parser in parsers]
    assert found == [{"code": "7"}, {"code": 7}]


def test_mistakes_of_the_program():
    with pytest.raises(ConfigError, match="not a tag name"):
        Parser(tags=["no name"])
    with pytest.raises(ConfigError, match="anchoring is"):
        Parser(anchoring="somewhere")
    with pytest.raises(SchemaError):
        Parser(schemas={"a": {"type": "strin"}})
    with pytest.raises(TypeError):
        Parser().feed(b"bytes")


def test_calls_are_written_as_they_are_read():
    block = write_call("Cook", {"dish": ["pie"], "hot": True}, id="k", dependencies=["soup"])
    (call,) = [event for event in Parser().feed(block) if isinstance(event, Call)]
    assert (call.name, call.id, call.dependencies, call.parameters) == ("Cook", "k", ("soup",), {"dish": ["pie"], "hot": True})
    with pytest.raises(ConfigError, match="name"):
        write_call("no: name", {})


def test_instructions():
    def weather(city: str) -> str:
        """Get the weather."""
        return city

    text = instructions([weather])
    assert "Weather" in text and "Get the weather." in text and "!!!GADGET_START:" in text
    assert "!!!GADGET_START:" not in instructions([weather], form="json")


CLOCK = {"name": "Clock", "description": "The time.", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}

SPECS = [
    (CLOCK, None, "zone"),
    (MappingProxyType({"name": "Clock", "description": "The time.", "parameters": MappingProxyType(CLOCK["parameters"])}), None, "zone"),
    (Gadget(lambda zone: "", name="Clock", description="The time.").spec, None, "zone"),
    ({"description": "The time."}, ValueError, "name"),
    ({"name": "Clock", "parameters": {"type": "no such"}}, SchemaError, "no such"),
    ({"name": "Clock", "description": object()}, TypeError, "no form in JSON"),
    ("Clock", TypeError, "is not a gadget"),
]


@pytest.mark.parametrize(("spec", "error", "words"), SPECS)
def test_instructions_of_specifications(spec, error, words):
    def weather(city: str) -> str:
        """Get the weather."""
        return city

    if error is None:
        text = instructions([spec, weather])
        assert words in text and text.index("## Clock\nThe time.") < text.index("## Weather")
    else:
        with pytest.raises(error, match=words):
            instructions([weather, spec])
