"""Cases of the Berkeley Function Calling Leaderboard, and whether a call is right: its rules for Python, written anew.

The data comes from the package `bfcl-eval` (Apache-2.0).
"""

import json
import re
from pathlib import Path

TYPES = {"dict": "object", "float": "number", "tuple": "array"}

PYTHON = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


class Case:
    """A question, the function that answers it, and the calls that are right."""

    def __init__(self, question, answer):
        self.id = question["id"]
        self.messages = question["question"][0]
        self.function = question["function"][0]
        self.right = answer["ground_truth"][0]

    @property
    def name(self):
        # OpenAI's API admits no dots.
        return self.function["name"].replace(".", "_")

    @property
    def tool(self):
        function = {
            "name": self.name,
            "description": self.function["description"],
            "parameters": schema(self.function["parameters"]),
        }
        return {"type": "function", "function": function}


def has_few_scalars(case, most=3):
    """Whether a function has at most three parameters, and no lists or objects among them."""
    properties = case.function["parameters"]["properties"].values()
    return len(properties) <= most and all(it["type"] in ("string", "integer", "float", "boolean") for it in properties)


def cases(folder, category, wanted):
    name = f"BFCL_v4_{category}.json"
    read = lambda path: [json.loads(line) for line in path.read_text().splitlines()]
    questions = read(Path(folder) / name)
    answers = read(Path(folder) / "possible_answer" / name)
    both = list(zip(questions, answers))
    return [Case(*both[at]) for at in wanted if at < len(both)]


def schema(written):
    """The schema in the words of JSON Schema."""
    if isinstance(written, list):
        return [schema(it) for it in written]
    if not isinstance(written, dict):
        return written
    out = {}
    for key, value in written.items():
        if key == "type" and isinstance(value, str):
            if value != "any":
                out[key] = TYPES.get(value, value)
        elif key == "properties":
            out[key] = {name: schema(it) for name, it in value.items()}
        elif key in ("enum", "required", "description", "default"):
            out[key] = value
        elif key in ("items", "additionalProperties"):
            out[key] = schema(value)
    return out


def is_valid(value, schema):
    """Whether a value fits a schema, as far as the leaderboard uses JSON Schema."""
    kinds = {
        "object": lambda it: isinstance(it, dict),
        "array": lambda it: isinstance(it, list),
        "string": lambda it: isinstance(it, str),
        "boolean": lambda it: isinstance(it, bool),
        "integer": lambda it: is_number(it) and it == int(it),
        "number": is_number,
        "null": lambda it: it is None,
    }
    kind = kinds.get(schema.get("type"))
    if kind and not kind(value):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return all(is_valid(it, schema["items"]) for it in value)
    if isinstance(value, dict) and isinstance(schema.get("properties"), dict):
        properties = schema["properties"]
        has_all = all(name in value for name in schema.get("required", []))
        return has_all and all(
            name in properties and is_valid(it, properties[name]) for name, it in value.items()
        )
    return True


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_right(case, name, arguments):
    """Whether a call is one of those that are right: function, types and all values."""
    if name != case.name or not isinstance(arguments, dict):
        return False
    options = next(iter(case.right.values()))
    parameters = case.function["parameters"]
    if any(it not in arguments for it in parameters.get("required", [])):
        return False
    for parameter, value in arguments.items():
        details = parameters["properties"].get(parameter)
        if details is None or parameter not in options:
            return False
        if not is_value_right(value, details, options[parameter]):
            return False
    return all(it in arguments or "" in options[it] for it in options)


def is_value_right(value, details, options):
    written = details["type"]
    expected = PYTHON[written]
    if written in ("float",) and type(value) is int:
        value = float(value)
    # The answers have another type where the value is the name of a variable.
    of_options = next((type(it) for it in options if it != ""), None)
    is_variable = of_options is not None and of_options is not expected
    if type(value) is expected:
        nested = PYTHON.get((details.get("items") or {}).get("type")) if expected is list else None
        if nested and not is_list_of(value, nested, options):
            return False
    elif of_options is not None and type(value) is of_options:
        is_variable = True
    else:
        return False
    if not is_variable:
        if expected is dict:
            return any(is_dict_right(value, it) for it in options if it != "")
        if expected is list and (details.get("items") or {}).get("type") == "dict":
            return any(
                len(value) == len(it) and all(map(is_dict_right, value, it))
                for it in options
                if it != ""
            )
        if expected is str:
            return plain(value) in [plain(it) for it in options if isinstance(it, str)]
        if expected is list:
            return plain(value) in [plain(it) for it in options if it != ""]
    return value in options


def is_list_of(value, nested, options):
    """Whether each item has the type of the items, or of those of an answer."""
    def fits(answer):
        of_answer = next((type(it) for it in answer if it != ""), None)
        return all(type(it) in (nested, of_answer) for it in value)

    # An answer that is no list admits any.
    return any(not isinstance(it, list) or fits(it) for it in options)


def is_dict_right(value, answer):
    if not isinstance(value, dict):
        return False
    for key, it in value.items():
        if key not in answer or plain(it) not in [plain(option) for option in answer[key]]:
            return False
    return all(key in value or "" in options for key, options in answer.items())


def plain(value):
    """A text without the characters that do not count, and in lower case; also in a list."""
    if isinstance(value, str):
        return re.sub(r"[ ,./\-_*^]", "", value).lower().replace("'", '"')
    if isinstance(value, list):
        return [plain(it) if isinstance(it, str) else it for it in value]
    return value


def check():
    """The rules, a row each."""
    def case(parameters, right, required=()):
        question = {
            "id": "x",
            "question": [[]],
            "function": [{"name": "a.b", "parameters": {"properties": parameters, "required": list(required)}}],
        }
        return Case(question, {"ground_truth": [{"a.b": right}]})

    number = {"n": {"type": "integer"}}
    decimal = {"n": {"type": "float"}}
    text = {"t": {"type": "string"}}
    words = {"w": {"type": "array", "items": {"type": "string"}}}
    numbers = {"w": {"type": "array", "items": {"type": "float"}}}
    thing = {"d": {"type": "dict"}}
    rows = [
        (number, {"n": [5]}, {"n": 5}, True),
        (number, {"n": [5]}, {"n": 6}, False),
        (number, {"n": [5]}, {"n": 5.0}, False),
        (number, {"n": [5]}, {"n": True}, False),
        (number, {"n": [5]}, {}, False),
        (number, {"n": [5, ""]}, {}, True),
        (number, {"n": [5]}, {"n": 5, "m": 1}, False),
        (decimal, {"n": [5.0]}, {"n": 5}, True),
        (decimal, {"n": [0.5]}, {"n": "0.5"}, False),
        (text, {"t": ["New York, NY"]}, {"t": "new york ny"}, True),
        (text, {"t": ["it's"]}, {"t": 'it"s'}, True),
        (text, {"t": ["Rome"]}, {"t": "Paris"}, False),
        (words, {"w": [["a b", "c"]]}, {"w": ["A-B", "c"]}, True),
        (words, {"w": [["a", "c"]]}, {"w": ["c", "a"]}, False),
        (words, {"w": [["a"]]}, {"w": "a"}, False),
        (words, {"w": [["a"]]}, {"w": [1]}, False),
        (numbers, {"w": [[1.5, 2.0]]}, {"w": [1.5, 2.0]}, True),
        (thing, {"d": [{"k": ["v"], "o": [1, ""]}]}, {"d": {"k": "V"}}, True),
        (thing, {"d": [{"k": ["v"]}]}, {"d": {"k": "v", "x": 1}}, False),
        (thing, {"d": [{"k": ["v"]}]}, {"d": {}}, False),
    ]
    for parameters, right, arguments, expected in rows:
        found = is_right(case(parameters, right), "a_b", arguments)
        assert found == expected, (parameters, right, arguments, found)
    assert not is_right(case(number, {"n": [5]}), "other", {"n": 5})


if __name__ == "__main__":
    check()
