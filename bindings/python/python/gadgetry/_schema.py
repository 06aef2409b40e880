"""JSON Schemas of type hints, and values of these types from JSON and back."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import functools
import json
import re
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union

from .errors import SchemaError

Schema = dict[str, Any]
Load = Callable[[Any], Any] | None
"""Makes a value of the type from JSON; `None` if they are the same."""

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


@functools.cache
def _texts() -> dict[Any, tuple[Schema, Callable[[str], Any]]]:
    """The types that JSON writes as a text. Few gadgets take one, so their modules are not imported with the package."""
    import decimal
    import pathlib
    import uuid

    def number(text: str) -> decimal.Decimal:
        try:
            return decimal.Decimal(text)
        except decimal.InvalidOperation as error:
            raise ValueError(f"{text!r} is not a decimal number") from error

    return {
        datetime.datetime: ({"type": "string", "format": "date-time"}, datetime.datetime.fromisoformat),
        datetime.date: ({"type": "string", "format": "date"}, datetime.date.fromisoformat),
        datetime.time: ({"type": "string", "format": "time"}, datetime.time.fromisoformat),
        uuid.UUID: ({"type": "string", "format": "uuid"}, uuid.UUID),
        pathlib.Path: ({"type": "string"}, pathlib.Path),
        decimal.Decimal: ({"type": "string"}, number),
    }


_LISTS: dict[Any, Callable[[Any], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: set,
}

_SETS: tuple[Any, ...] = (set, frozenset)

_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class Definitions:
    """The schemas of classes, by name, to which others refer."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self._classes: dict[str, Any] = {}
        self._loads: dict[Any, Load] = {}

    def hoist(self, schema: Schema) -> Schema:
        """Takes over the `$defs` of a schema that another package has made."""
        for name, definition in schema.pop("$defs", {}).items():
            known = self.schemas.setdefault(name, definition)
            if known != definition:
                raise SchemaError(f"two types are called {name}: give one of them another name")
        return schema

    def of(self, hint: Any) -> tuple[Schema, Load]:
        """Returns the schema of a type, and how to make its values."""
        if type(hint).__name__ == "TypeAliasType":
            return self.of(hint.__value__)
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        if isinstance(hint, typing.TypeVar):
            return self.of(hint.__bound__ or Any)
        try:
            plain = _PLAIN.get(hint)
            text = _texts().get(hint) if plain is None else None
        except TypeError:
            plain = text = None
        if plain is not None:
            return dict(plain), None
        if text is not None:
            return dict(text[0]), text[1]
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(hint, args[0], args[1:])
        if origin is Literal:
            return self._literal(args)
        if origin in (Union, types.UnionType):
            return self._union(args)
        if origin in (typing.Required, typing.NotRequired):
            return self.of(args[0])
        kind = origin or hint
        if kind is tuple:
            return self._tuple(args)
        if kind in _LISTS:
            return self._list(_LISTS[kind], args)
        if kind in _DICTS:
            return self._dict(args)
        if isinstance(hint, type):
            return self._class(hint)
        if isinstance(kind, type) and _is_model(kind):
            return self._model(hint)
        raise SchemaError(f"the type {_name(hint)} has no JSON Schema; a gadget takes what JSON can express")

    def _annotated(self, hint: Any, of: Any, metadata: tuple[Any, ...]) -> tuple[Schema, Load]:
        texts = [item for item in metadata if isinstance(item, str)]
        others = [item for item in metadata if not isinstance(item, str)]
        pydantic = sys.modules.get("pydantic")
        if others and pydantic is not None:
            schema, load = self._adapted(pydantic.TypeAdapter(hint))
        else:
            schema, load = self.of(of)
        if texts:
            if "$ref" in schema:
                schema = dict[str, Any](allOf=[schema])
            schema["description"] = " ".join(texts)
        return schema, load

    def _adapted(self, adapter: Any) -> tuple[Schema, Load]:
        schema = self.hoist(adapter.json_schema(ref_template="#/$defs/{model}"))
        return schema, adapter.validate_python

    @staticmethod
    def _literal(values: tuple[Any, ...]) -> tuple[Schema, Load]:
        schema: Schema = {"enum": [value.value if isinstance(value, enum.Enum) else value for value in values]}
        if all(isinstance(value, str) and not isinstance(value, enum.Enum) for value in values):
            schema["type"] = "string"
        members = {value.value: value for value in values if isinstance(value, enum.Enum)}
        return schema, (lambda value: members.get(value, value)) if members else None

    def _union(self, args: tuple[Any, ...]) -> tuple[Schema, Load]:
        parts = [self.of(arg) for arg in args]
        schema: Schema = {"anyOf": [schema for schema, _ in parts]}
        loads = [load for _, load in parts]
        if all(load is None for load in loads):
            return schema, None

        def load_first(value: Any) -> Any:
            failed: Exception | None = None
            for arg, load in zip(args, loads, strict=True):
                if load is None:
                    if _is_of(value, arg):
                        return value
                    continue
                try:
                    return load(value)
                except Exception as error:  # noqa: BLE001: the next member may fit
                    failed = error
            if failed is not None:
                raise failed
            return value

        return schema, load_first

    def _tuple(self, args: tuple[Any, ...]) -> tuple[Schema, Load]:
        if not args:
            return {"type": "array"}, tuple
        if len(args) == 2 and args[1] is Ellipsis:
            return self._list(tuple, args[:1])
        parts = [self.of(arg) for arg in args]
        items = [schema for schema, _ in parts]
        loads = [load for _, load in parts]
        schema = {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        return schema, lambda value: tuple(
            item if load is None else load(item) for item, load in zip(value, loads, strict=True)
        )

    def _list(self, make: Any, args: tuple[Any, ...]) -> tuple[Schema, Load]:
        schema, load = self.of(args[0]) if args else ({}, None)
        array: Schema = {"type": "array", "items": schema}
        if make in _SETS:
            array["uniqueItems"] = True
        if load is not None:

            def load_items(value: Any) -> Any:
                return make(load(item) for item in value)

            return array, load_items
        return array, None if make == list else make  # noqa: E721: it is compared, not tested

    def _dict(self, args: tuple[Any, ...]) -> tuple[Schema, Load]:
        if not args:
            return {"type": "object"}, None
        if args[0] is not str:
            raise SchemaError(f"the keys of a JSON object are texts, not {_name(args[0])}")
        schema, load = self.of(args[1])
        values: Schema = {"type": "object", "additionalProperties": schema}
        if load is None:
            return values, None
        return values, lambda value: {key: load(item) for key, item in value.items()}

    def _class(self, cls: Any) -> tuple[Schema, Load]:
        if _is_model(cls):
            return self._model(cls)
        if issubclass(cls, enum.Enum):
            return {"enum": [member.value for member in cls]}, cls
        if dataclasses.is_dataclass(cls) or typing.is_typeddict(cls):
            return self._fields(cls)
        raise SchemaError(
            f"the class {_name(cls)} has no JSON Schema; make it a dataclass, a TypedDict or a pydantic model"
        )

    def _model(self, model: Any) -> tuple[Schema, Load]:
        import pydantic

        if isinstance(model, type):
            described: Any = model
            adapter = pydantic.TypeAdapter(described)
            schema: Schema = self.hoist(adapter.json_schema(ref_template="#/$defs/{model}"))
            if "$ref" in schema:
                # A recursive type is a definition already.
                return schema, adapter.validate_python
            name = _definition_name(described)
            if self.schemas.setdefault(name, schema) != schema:
                raise SchemaError(f"two types are called {name}: give one of them another name")
            return {"$ref": f"#/$defs/{name}"}, adapter.validate_python
        return self._adapted(pydantic.TypeAdapter(model))

    def _fields(self, cls: Any) -> tuple[Schema, Load]:
        name = _definition_name(cls)
        reference: Schema = {"$ref": f"#/$defs/{name}"}
        if self._classes.get(name) is cls:
            return reference, lambda value: _loaded(self._loads[cls], value)
        if name in self.schemas:
            raise SchemaError(f"two types are called {name}: give one of them another name")
        self._classes[name] = cls
        self.schemas[name] = {}
        hints = hints_of(cls)
        properties: dict[str, Schema] = {}
        loads: dict[str, Callable[[Any], Any]] = {}
        required: list[str] = []
        for field, is_required, default in _members(cls):
            schema, load = self.of(hints[field])
            if default is not dataclasses.MISSING and default is not None:
                schema = with_default(schema, default)
            properties[field] = schema
            if load is not None:
                loads[field] = load
            if is_required:
                required.append(field)
        whole: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            whole["required"] = required
        self.schemas[name] = whole

        def load_fields(value: Any) -> Any:
            fields = {key: _loaded(loads.get(key), item) for key, item in value.items()}
            return cls(**fields)

        self._loads[cls] = load_fields
        return reference, load_fields


def _definition_name(cls: Any) -> str:
    """The name of a class as a part of a reference, as pydantic writes it: `Box_int_` for `Box[int]`."""
    return re.sub(r"[^a-zA-Z0-9.\-_]", "_", cls.__name__)


def _loaded(load: Load, value: Any) -> Any:
    return value if load is None else load(value)


def _members(cls: Any) -> list[tuple[str, bool, Any]]:
    """The fields of a dataclass or a `TypedDict`: name, whether it is required, default."""
    if typing.is_typeddict(cls):
        return [(name, name in cls.__required_keys__, dataclasses.MISSING) for name in cls.__annotations__]
    members: list[tuple[str, bool, Any]] = []
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        members.append((field.name, not has_default, field.default))
    return members


def _is_model(cls: Any) -> bool:
    """Returns true for models of pydantic, and for its dataclasses."""
    # What inherits from such a dataclass may be a plain one.
    return _is_base_model(cls) or isinstance(cls, type) and "__pydantic_validator__" in vars(cls)


def _is_base_model(cls: Any) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(cls, type) and issubclass(cls, pydantic.BaseModel)


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of a type that needs no conversion."""
    if hint in (None, type(None)):
        return value is None
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    kind = typing.get_origin(hint) or hint
    if kind is Literal:
        return value in typing.get_args(hint)
    return isinstance(value, kind) if isinstance(kind, type) else True


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


def hints_of(thing: Any) -> dict[str, Any]:
    """Returns the type hints of a function or a class, with what is in `Annotated`."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except NameError as error:
        raise SchemaError(
            f"a type hint of {_name(thing)} names something that is not at the top of its module: {error}"
        ) from error


def with_default(schema: Schema, default: Any) -> Schema:
    """Adds a default to a schema, if JSON can express it."""
    try:
        value = to_json(default)
    except (TypeError, ValueError):
        return schema
    if "$ref" in schema:
        schema = {"allOf": [schema]}
    return {**schema, "default": value}


def answer_shape(hint: Any) -> tuple[Schema, Callable[[Any], Any]]:
    """Returns the schema of a whole answer, and how to make the answer from JSON."""
    definitions = Definitions()
    schema, load = definitions.of(hint)
    reference = schema.get("$ref", "")
    name = reference.removeprefix("#/$defs/")
    if reference and name in definitions.schemas and not _refers(definitions.schemas, reference):
        schema = definitions.schemas.pop(name)
    if definitions.schemas:
        schema = {**schema, "$defs": definitions.schemas}
    if reference and "type" not in schema:
        schema = {**schema, "type": "object"}
    return schema, load or (lambda value: value)


def _refers(schemas: dict[str, Schema], reference: str) -> bool:
    return f'"{reference}"' in json.dumps(schemas)


def to_json(value: Any) -> Any:
    """Converts a value to what JSON can express."""
    if value is None or isinstance(value, (str, bool, int, float)) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if _is_base_model(type(value)):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, collections.abc.Mapping):
        return {_key(key): to_json(item) for key, item in value.items()}  # pyright: ignore
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json(item) for item in value]  # pyright: ignore
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    import decimal
    import pathlib
    import uuid

    if isinstance(value, (uuid.UUID, pathlib.PurePath, decimal.Decimal)):
        return str(value)
    raise TypeError(f"a value of the type {type(value).__name__} has no form in JSON")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of a JSON object is a text, not {key!r}")
    return key


def to_text(value: Any) -> str:
    """The text of a result for a model: a text as it is, nothing for `None`, and JSON for everything else."""
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return value
    if value is None:
        return ""
    return json.dumps(to_json(value), ensure_ascii=False)
