"""Write ``generated/*.py`` from the ``.fbs`` schemas: dataclasses, decoder and encoder.

    python -m et_schema.generate            # write
    python -m et_schema.generate --check    # exit 1 if a file is out of date

The output is straight-line code per table, because the reading and writing of programs dominates start-up: no
reflection, no per-field dispatch. ``flatbuffer.py`` holds what all tables share.

The schema language is the subset of FlatBuffers' that the schemas need: tables, enums, unions, scalars,
strings, vectors, defaults, and the attributes ``force_align``, ``omit_empty`` and ``deprecated``: of a
deprecated field only its place in the table is known. Members of a union that share the layout of one table
(``Relu: Unary``) become subclasses of it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
LINE_LENGTH = 110
BANNER = '''"""{doc}

Generated from {source} by `python -m et_schema.generate`; do not edit.
"""
'''


@dataclass(frozen=True)
class Scalar:
    """A fixed-size type: ``view`` is the reader's word view, ``code`` the struct letter, ``python`` the
    field's type."""

    view: str
    code: str
    size: int
    python: str


SCALARS = {
    "bool": Scalar("u8", "?", 1, "bool"),
    "byte": Scalar("i8", "b", 1, "int"),
    "ubyte": Scalar("u8", "B", 1, "int"),
    "short": Scalar("i16", "h", 2, "int"),
    "ushort": Scalar("u16", "H", 2, "int"),
    "int": Scalar("i32", "i", 4, "int"),
    "uint": Scalar("u32", "I", 4, "int"),
    "long": Scalar("i64", "q", 8, "int"),
    "ulong": Scalar("u64", "Q", 8, "int"),
    "float": Scalar("f32", "f", 4, "float"),
    "double": Scalar("f64", "d", 8, "float"),
}
ALIASES = {
    "int8": "byte",
    "uint8": "ubyte",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
}


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    vector: bool
    default: str | None
    attributes: dict[str, str | None]


@dataclass(frozen=True)
class Table:
    name: str
    fields: list[Field]
    doc: str


@dataclass(frozen=True)
class Enum:
    name: str
    base: str
    members: dict[str, int]
    doc: str


@dataclass(frozen=True)
class Union:
    """``members`` by name in the order of their numbers, with the table that each is laid out as."""

    name: str
    members: dict[str, str]
    doc: str


@dataclass
class Schema:
    tables: dict[str, Table] = field(default_factory=dict[str, Table])
    enums: dict[str, Enum] = field(default_factory=dict[str, Enum])
    unions: dict[str, Union] = field(default_factory=dict[str, Union])
    identifier: str = ""
    extension: str = ""
    root: str = ""


class SchemaError(Exception):
    """A ``.fbs`` file outside of the supported subset; the message starts with ``file:line``."""


TOKEN = re.compile(
    r'\s+|(?P<comment>//[^\n]*)|(?P<string>"[^"]*")|(?P<word>[\w.+-]+)|(?P<mark>[{}()\[\]:;=,])'
)


class Parser:
    """Recursive descent over one file and its includes. The comment above a declaration becomes its
    docstring."""

    def __init__(self, path: Path, schema: Schema) -> None:
        self.path = path
        self.schema = schema
        self.tokens: list[tuple[str, int, str]] = []
        self.at = 0
        self._scan(path.read_text())

    def _scan(self, text: str) -> None:
        at, line, comment = 0, 1, list[str]()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise SchemaError(f"{self.path.name}:{line}: unexpected {text[at]!r}")
            if match["comment"] is not None:
                comment.append(match["comment"][2:].strip())
            elif match.lastgroup is not None:
                self.tokens.append((match[0], line, "\n".join(comment)))
                comment.clear()
            elif match[0].count("\n") > 1:
                comment.clear()
            line += match[0].count("\n")
            at = match.end()

    def _error(self, message: str) -> SchemaError:
        line = self.tokens[min(self.at, len(self.tokens) - 1)][1]
        return SchemaError(f"{self.path.name}:{line}: {message}")

    def _peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _take(self, expected: str | None = None) -> str:
        token = self._peek()
        if token == "" or (expected is not None and token != expected):
            raise self._error(f"expected {expected or 'a name'}, found {token or 'the end'}")
        self.at += 1
        return token

    def _items(self) -> Iterator[None]:
        """The comma-separated items between braces; a trailing comma is fine."""
        self._take("{")
        while self._peek() != "}":
            yield
            if self._peek() != "}":
                self._take(",")
        self._take("}")

    def parse(self) -> None:
        while self.at < len(self.tokens):
            doc = self.tokens[self.at][2]
            keyword = self._take()
            match keyword:
                case "include":
                    name = self._take().strip('"')
                    self._take(";")
                    Parser(self.path.parent / name, self.schema).parse()
                case "namespace" | "attribute" | "file_extension" | "file_identifier" | "root_type":
                    value = self._take().strip('"')
                    self._take(";")
                    if keyword == "file_identifier":
                        self.schema.identifier = value
                    elif keyword == "file_extension":
                        self.schema.extension = value
                    elif keyword == "root_type":
                        self.schema.root = value
                case "enum":
                    self._enum(doc)
                case "union":
                    self._union(doc)
                case "table":
                    self._table(doc)
                case _:
                    self.at -= 1
                    raise self._error(f"unknown declaration {keyword!r}")

    def _enum(self, doc: str) -> None:
        name = self._take()
        self._take(":")
        base = self._take()
        members: dict[str, int] = {}
        for _ in self._items():
            member = self._take()
            self._take("=")
            members[member] = int(self._take())
        self.schema.enums[name] = Enum(name, ALIASES.get(base, base), members, doc)

    def _union(self, doc: str) -> None:
        name = self._take()
        members: dict[str, str] = {}
        for _ in self._items():
            member = layout = self._take()
            if self._peek() == ":":
                self._take(":")
                layout = self._take()
            members[member] = layout
        self.schema.unions[name] = Union(name, members, doc)

    def _table(self, doc: str) -> None:
        name = self._take()
        fields: list[Field] = []
        self._take("{")
        while self._peek() != "}":
            field_name = self._take()
            self._take(":")
            vector = self._peek() == "["
            if vector:
                self._take("[")
            type_name = self._take().rpartition(".")[2]
            if vector:
                self._take("]")
            default = None
            if self._peek() == "=":
                self._take("=")
                default = self._take()
            attributes: dict[str, str | None] = {}
            if self._peek() == "(":
                self._take("(")
                while self._peek() != ")":
                    attribute = self._take()
                    value = None
                    if self._peek() == ":":
                        self._take(":")
                        value = self._take()
                    attributes[attribute] = value
                    if self._peek() == ",":
                        self._take(",")
                self._take(")")
            self._take(";")
            fields.append(Field(field_name, ALIASES.get(type_name, type_name), vector, default, attributes))
        self._take("}")
        self.schema.tables[name] = Table(name, fields, doc)


def parse(path: Path) -> Schema:
    """Read a schema with its includes. Raises ``SchemaError`` with file and line."""
    schema = Schema()
    Parser(path, schema).parse()
    return schema


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@dataclass
class Slot:
    """One vtable entry as the generated code sees it; a union takes two."""

    field: Field
    name: str
    index: int
    kind: str  # scalar, enum, bool, string, table, union type, union, tables, strings, vector, bytes, blob,
    # deprecated
    scalar: Scalar | None = None
    element: str = ""

    @property
    def is_inline(self) -> bool:
        """Stored in the table itself instead of behind an offset."""
        return self.kind in ("scalar", "enum", "bool", "union type", "deprecated") and self.scalar is not None

    @property
    def code(self) -> str:
        """The scalar's struct letter; empty for an offset."""
        return self.scalar.code if self.is_inline and self.scalar is not None else ""

    @property
    def size(self) -> int:
        return self.scalar.size if self.is_inline and self.scalar is not None else 4

    @property
    def always(self) -> bool:
        """Written even when empty."""
        is_list = self.kind in ("string", "bytes", "blob", "vector", "tables")
        return is_list and "omit_empty" not in self.field.attributes


class Emitter:
    """Writes one module for one schema."""

    def __init__(self, schema: Schema, source: str, doc: str) -> None:
        self.schema = schema
        self.source = source
        self.doc = doc
        self.lines: list[str] = []
        self.bases = {
            member: layout
            for union in schema.unions.values()
            for member, layout in union.members.items()
            if member != layout
        }
        """The members of unions that are laid out as another table."""
        self._reject_recursion()
        self.reachable = self._reachable_tables()

    def _children(self, table: Table) -> list[str]:
        names: list[str] = []
        for item in table.fields:
            if item.type in self.schema.unions:
                names += self.schema.unions[item.type].members.values()
            elif item.type in self.schema.tables:
                names.append(item.type)
        return names

    def _reject_recursion(self) -> None:
        """The reader's depth is bounded because no table can contain itself."""

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in path:
                raise SchemaError(f"{self.source}: table {name} contains itself")
            for child in self._children(self.schema.tables[name]):
                visit(child, (*path, name))

        visit(self.schema.root, ())

    def _reachable_tables(self) -> list[Table]:
        """Children before parents."""
        order: dict[str, Table] = {}

        def visit(name: str) -> None:
            if name not in order:
                for child in self._children(self.schema.tables[name]):
                    visit(child)
                order[name] = self.schema.tables[name]

        visit(self.schema.root)
        return list(order.values())

    def slots(self, table: Table) -> list[Slot]:
        slots: list[Slot] = []
        for item in table.fields:
            index = len(slots)
            schema = self.schema
            if "deprecated" in item.attributes:
                scalar = None if item.vector else SCALARS.get(item.type)
                slots.append(Slot(item, item.name, index, "deprecated", scalar))
            elif item.vector:
                if item.type in schema.tables:
                    slots.append(Slot(item, item.name, index, "tables", element=item.type))
                elif item.type == "ubyte":
                    kind = "blob" if "force_align" in item.attributes else "bytes"
                    slots.append(Slot(item, item.name, index, kind))
                elif item.type in SCALARS:
                    slots.append(Slot(item, item.name, index, "vector", SCALARS[item.type]))
                else:
                    raise SchemaError(
                        f"{self.source}: {table.name}.{item.name}: unsupported vector of {item.type}"
                    )
            elif item.type == "string":
                slots.append(Slot(item, item.name, index, "string"))
            elif item.type in SCALARS:
                kind = "bool" if item.type == "bool" else "scalar"
                slots.append(Slot(item, item.name, index, kind, SCALARS[item.type]))
            elif item.type in schema.enums:
                slots.append(
                    Slot(item, item.name, index, "enum", SCALARS[schema.enums[item.type].base], item.type)
                )
            elif item.type in schema.unions:
                slots.append(
                    Slot(item, f"{item.name}_type", index, "union type", SCALARS["ubyte"], item.type)
                )
                slots.append(Slot(item, item.name, index + 1, "union", element=item.type))
            elif item.type in schema.tables:
                slots.append(Slot(item, item.name, index, "table", element=item.type))
            else:
                raise SchemaError(f"{self.source}: {table.name}.{item.name}: unknown type {item.type}")
        return slots

    def python_default(self, slot: Slot) -> tuple[str, str]:
        """(type, default) of the dataclass field."""
        match slot.kind:
            case "tables":
                return f"list[{slot.element}]", f'field(default_factory=list["{slot.element}"])'
            case "vector":
                assert slot.scalar is not None
                return f"list[{slot.scalar.python}]", f"field(default_factory=list[{slot.scalar.python}])"
            case "bytes":
                return "bytes", 'b""'
            case "blob":
                return "Bytes", 'b""'
            case "string":
                return "str", '""'
            case "table" | "union":
                return f"{slot.element} | None", "None"
            case "enum":
                return slot.element, f"{slot.element}.{self.enum_default(slot)}"
            case "bool":
                return "bool", str(slot.field.default == "true")
            case _:
                assert slot.scalar is not None
                number = (
                    float(slot.field.default or 0)
                    if slot.scalar.python == "float"
                    else int(slot.field.default or 0)
                )
                return slot.scalar.python, str(number)

    def enum_default(self, slot: Slot) -> str:
        members = self.schema.enums[slot.element].members
        if slot.field.default is not None:
            return slot.field.default
        return next(name for name, number in members.items() if number == 0)

    def emit(self, text: str = "") -> None:
        self.lines.append(text)

    def module(self) -> str:
        """The module's text."""
        schema = self.schema
        enums = [name for name in schema.enums if name != "ScalarType"]
        used_enums = [
            name
            for name in schema.enums
            if any(item.type == name for table in self.reachable for item in table.fields)
        ]
        self.emit(BANNER.format(doc=self.doc, source=self.source).rstrip())
        self.emit("\nfrom __future__ import annotations\n")
        if schema.unions:
            self.emit("from collections.abc import Callable")
        self.emit("from dataclasses import dataclass, field")
        if enums:
            self.emit("from enum import IntEnum")
        slots = [slot for table in self.reachable for slot in self.slots(table)]
        if any(slot.kind == "scalar" and self.python_default(slot)[0] == "float" for slot in slots):
            self.emit("from math import copysign")
        if schema.unions:
            self.emit(f"from typing import Any, TypeAlias{', TypeVar' if self.bases else ''}")
        self.emit("\nfrom et_schema.errors import InvalidFile")
        blobs = "Bytes, " if any(slot.kind == "blob" for slot in slots) else ""
        self.emit(f"from et_schema.flatbuffer import {blobs}Reader, Slot, TableType, Writer")
        self.emit("from et_schema.scalar_type import ScalarType\n")
        self.emit("__all__ = [")
        names = sorted([*enums, *schema.tables, *self.bases, *schema.unions])
        for name in ["FILE_IDENTIFIER", *names, "read", "write"]:
            self.emit(f'    "{name}",')
        self.emit("]\n")
        self.emit(f'FILE_IDENTIFIER = b"{schema.identifier}"')
        for name in enums:
            self._enum(schema.enums[name])
        for table in schema.tables.values():
            self._dataclass(table)
        for member, base in self.bases.items():
            self.emit(f"\n\n@dataclass(slots=True)\nclass {member}({base}):\n    pass")
        if schema.unions:
            self.emit("\n")
        for base in dict.fromkeys(self.bases.values()):
            self.emit(f'{type_variable(base)} = TypeVar("{type_variable(base)}", bound={base})')
        for union in schema.unions.values():
            line = f"{union.name}: TypeAlias = {' | '.join(union.members)}"
            if len(line) > LINE_LENGTH:
                members = "\n    | ".join(union.members)
                line = f"{union.name}: TypeAlias = (\n    {members}\n)"
            self.emit(line)
        self.emit("" if schema.unions else "\n")
        for name in used_enums:
            self.emit(f"{constant(name)} = {{int(member): member for member in {name}}}")
        for number, table in enumerate(self.reachable):
            self._table_type(number, table)
        unions = {
            item.type for table in self.reachable for item in table.fields if item.type in schema.unions
        }
        for verb in (self._read, self._write):
            pending = [schema.unions[name] for name in schema.unions if name in unions]
            written: set[str] = set()
            for table in self.reachable:
                for union in [item for item in pending if written.issuperset(item.members.values())]:
                    pending.remove(union)
                    self._union(union, reading=verb == self._read)
                verb(table)
                written.add(table.name)
        self._entry_points()
        return "\n".join(self.lines) + "\n"

    def _docstring(self, doc: str) -> list[str]:
        if not doc:
            return []
        lines = doc.split("\n")
        if len(lines) == 1:
            return [f'    """{doc}"""']
        return [f'    """{lines[0]}', *(f"    {line}".rstrip() for line in lines[1:]), '    """']

    def _enum(self, enum: Enum) -> None:
        self.emit(f"\n\nclass {enum.name}(IntEnum):")
        for name, number in enum.members.items():
            self.emit(f"    {name} = {number}")

    def _dataclass(self, table: Table) -> None:
        self.emit(f"\n\n@dataclass(slots=True)\nclass {table.name}:")
        body = self._docstring(table.doc)
        slots = [slot for slot in self.slots(table) if slot.kind not in ("union type", "deprecated")]
        if body and slots:
            body.append("")
        for slot in slots:
            annotation, default = self.python_default(slot)
            line = f"    {slot.name}: {annotation} = {default}"
            if len(line) > LINE_LENGTH:
                line = line.replace("field(", "field(\n        ", 1)[:-1] + "\n    )"
            body.append(line)
        for line in body or ["    pass"]:
            self.emit(line)

    def _table_type(self, number: int, table: Table) -> None:
        slots = self.slots(table)
        head = f'{constant(table.name)} = TableType("{table.name}", {number}, ['
        if not slots:
            self.emit(head + "])")
            return
        items = [f'Slot("{slot.name}", "{slot.code}", {slot.size})' for slot in slots]
        if len(head + ", ".join(items)) + 2 <= LINE_LENGTH:
            self.emit(head + ", ".join(items) + "])")
            return
        self.emit(f"{constant(table.name)} = TableType(")
        self.emit(f'    "{table.name}",\n    {number},\n    [')
        for item in items:
            self.emit(f"        {item},")
        self.emit("    ],\n)")

    def _union(self, union: Union, reading: bool) -> None:
        """The dispatch table of a union: by type number when reading, by class when writing."""
        if reading:
            reader = f"Callable[[Reader, int], {union.name}]"
            self.emit(f"\n\n{constant(union.name)}_READERS: dict[int, {reader}] = {{")
            for number, (member, layout) in enumerate(union.members.items(), 1):
                reader = f"_read_{snake_case(layout)}"
                if member != layout:
                    reader = f"lambda r, at: {reader}(r, at, {member})"
                self.emit(f"    {number}: {reader},")
        else:
            writer = "tuple[int, Callable[[Writer, Any], int]]"
            self.emit(f"\n\n{constant(union.name)}_WRITERS: dict[type, {writer}] = {{")
            for number, (member, layout) in enumerate(union.members.items(), 1):
                self.emit(f"    {member}: ({number}, _write_{snake_case(layout)}),")
        self.emit("}")

    def _read(self, table: Table) -> None:
        slots = self.slots(table)
        name = table.name
        made, parameters = name, "r: Reader, at: int"
        if name in self.bases.values():
            made, parameters = type_variable(name), f"{parameters}, make: type[{type_variable(name)}]"
        self.emit(f"\n\ndef _read_{snake_case(name)}({parameters}) -> {made}:")
        fields = ", ".join("_" if slot.kind == "deprecated" else f"f{slot.index}" for slot in slots)
        if len(slots) == 1:
            fields = f"({fields},)"
        self.emit(f"    {fields + ' = ' if slots else ''}r.table(at, {constant(name)})")
        for slot in slots:
            for line in self._read_slot(slot):
                self.emit("    " + line)
        arguments = [slot.name for slot in slots if slot.kind not in ("union type", "deprecated")]
        made = "make" if name in self.bases.values() else name
        call = f"    value = {made}({', '.join(arguments)})"
        if len(call) <= LINE_LENGTH:
            self.emit(call)
        else:
            self.emit(f"    value = {made}(")
            for argument in arguments:
                self.emit(f"        {argument},")
            self.emit("    )")
        self.emit("    if r.offsets is not None:\n        r.place(value, at)\n    return value")

    def _has_tables(self, name: str) -> bool:
        """Whether a table has vectors of tables, some elements of which may be lost while the rest is read."""
        slots = self.slots(self.schema.tables[name])
        single = [slot.element for slot in slots if slot.kind == "table"]
        for slot in slots:
            if slot.kind == "union":
                single += self.schema.unions[slot.element].members.values()
        if any(self._has_tables(table) for table in single):
            raise NotImplementedError(f"{name}: a vector of tables below a table that is no element of one")
        return any(slot.kind == "tables" for slot in slots)

    def _read_slot(self, slot: Slot) -> list[str]:
        position, type_position, name = f"at + f{slot.index}", f"at + f{slot.index - 1}", slot.name
        default = self.python_default(slot)[1] if slot.kind != "deprecated" else ""
        match slot.kind:
            case "deprecated":
                return []
            case "scalar" | "union type":
                default = "0" if slot.kind == "union type" else default
                return [f"{name} = {word(slot, position)} if f{slot.index} else {default}"]
            case "bool":
                return [f'{name} = r.boolean({position}, "{name}") if f{slot.index} else {default}']
            case "enum":
                lookup = f"{constant(slot.element)}.get({word(slot, position)})"
                return [
                    f"{name} = {lookup} if f{slot.index} else {default}",
                    f"if {name} is None:",
                    f'    raise r.unknown("{slot.element}", {word(slot, position)}, {position}, "{name}")',
                ]
            case "string":
                return [f'{name} = r.string({position}, "{name}") if f{slot.index} else ""']
            case "bytes":
                return [f'{name} = r.u8_vector({position}, "{name}") if f{slot.index} else b""']
            case "blob":
                return [f'{name} = r.blob({position}, "{name}") if f{slot.index} else b""']
            case "vector":
                assert slot.scalar is not None
                view = "bool" if slot.scalar.code == "?" else slot.scalar.view
                return [f'{name} = r.{view}_vector({position}, "{name}") if f{slot.index} else []']
            case "table":
                return [
                    f"{name} = None",
                    f"if f{slot.index}:",
                    "    try:",
                    f"        {name} = _read_{snake_case(slot.element)}(r, {follow(position)})",
                    "    except InvalidFile as error:",
                    f'        error.nest("{name}")',
                    "        raise",
                ]
            case "union":
                return [
                    f"{name} = None",
                    f"if {name}_type:",
                    f"    reader = {constant(slot.element)}_READERS.get({name}_type)",
                    "    if reader is None:",
                    f'        raise r.unknown("{slot.element}", {name}_type, {type_position}, "{name}")',
                    f"    if not f{slot.index}:",
                    f'        raise r.fault("union has a type but no value", at, "{name}")',
                    "    try:",
                    f"        {name} = reader(r, {follow(position)})",
                    "    except InvalidFile as error:",
                    f'        error.nest("{name}")',
                    "        raise",
                ]
            case "tables" if self._has_tables(slot.element):
                return [
                    f"{name}: list[{slot.element}] = []",
                    f"if f{slot.index}:",
                    f'    first, count = r.table_vector({position}, "{name}")',
                    "    u32 = r.u32",
                    "    for item in range(first, first + 4 * count, 4):",
                    "        known = len(r.lost)",
                    "        try:",
                    f"            {name}.append(_read_{snake_case(slot.element)}(r, item + u32[item >> 2]))",
                    "        except InvalidFile as error:",
                    f'            path = f"{name}[{{len({name})}}]"',
                    f"            {name}.append(r.substitute({slot.element}(), item, path, error, known))",
                    "        else:",
                    "            if len(r.lost) > known:",
                    f'                r.within(f"{name}[{{len({name}) - 1}}]", known)',
                ]
            case "tables":
                return [
                    f"{name}: list[{slot.element}] = []",
                    f"if f{slot.index}:",
                    f'    first, count = r.table_vector({position}, "{name}")',
                    "    u32 = r.u32",
                    "    for item in range(first, first + 4 * count, 4):",
                    "        try:",
                    f"            {name}.append(_read_{snake_case(slot.element)}(r, item + u32[item >> 2]))",
                    "        except InvalidFile as error:",
                    f'            path = f"{name}[{{len({name})}}]"',
                    f"            {name}.append(r.substitute({slot.element}(), item, path, error))",
                ]
            case _:
                raise AssertionError(slot.kind)

    def _write(self, table: Table) -> None:
        slots = self.slots(table)
        name = table.name
        self.emit(f"\n\ndef _write_{snake_case(name)}(w: Writer, value: {name}) -> int:")
        if not slots:
            self.emit(f"    return w.table({constant(name)}, 0, (), ())")
            return
        always = sum(1 << slot.index for slot in slots if slot.always)
        self.emit(f"    present = 0x{always:X}")
        self.emit("    offsets: list[int] = []")
        self.emit("    scalars: list[int | float] = []")
        for slot in reversed(slots):
            for line in self._write_offset(table, slot):
                self.emit("    " + line)
        # The order that Writer.table asks for.
        inline = [slot for slot in slots if slot.is_inline and slot.kind != "deprecated"]
        for slot in sorted(inline, key=lambda slot: (4, 8, 2, 1).index(slot.size)):
            for line in self._write_scalar(slot):
                self.emit("    " + line)
        self.emit(f"    return w.table({constant(name)}, present, offsets, scalars)")

    def _write_offset(self, table: Table, slot: Slot) -> list[str]:
        value = f"value.{slot.name}"
        match slot.kind:
            case "string":
                lines = [f"offsets.append(w.string({value}))"]
            case "bytes":
                lines = [f"offsets.append(w.u8_vector({value}))"]
            case "blob":
                align = slot.field.attributes["force_align"]
                lines = [f'offsets.append(w.blob({value}, {align}, "{table.name}"))']
            case "vector":
                assert slot.scalar is not None
                view = "bool" if slot.scalar.code == "?" else slot.scalar.view
                lines = [f"offsets.append(w.{view}_vector({value}))"]
            case "tables":
                write = f"_write_{snake_case(slot.element)}"
                lines = [
                    f"items = [{write}(w, item) for item in reversed({value})]",
                    "offsets.append(w.tables(items))",
                ]
            case "table":
                return [
                    f"if {value} is not None:",
                    f"    present |= 0x{1 << slot.index:X}",
                    f"    offsets.append(_write_{snake_case(slot.element)}(w, {value}))",
                ]
            case "union":
                return [
                    f"{slot.name}_type = 0",
                    f"if {value} is not None:",
                    f"    present |= 0x{3 << (slot.index - 1):X}",
                    f"    {slot.name}_type, writer = {constant(slot.element)}_WRITERS[type({value})]",
                    f"    offsets.append(writer(w, {value}))",
                ]
            case _:
                return []
        if slot.always:
            return lines
        return [f"if {value}:", f"    present |= 0x{1 << slot.index:X}", *(f"    {line}" for line in lines)]

    def _write_scalar(self, slot: Slot) -> list[str]:
        value, bit = f"value.{slot.name}", f"0x{1 << slot.index:X}"
        if slot.kind == "union type":
            return [f"if {slot.name}:", f"    scalars.append({slot.name})"]
        annotation, default = self.python_default(slot)
        if annotation == "float" and float(default) == 0:
            # -0.0 equals the default but is another value.
            condition = f"{value} or copysign(1.0, {value}) < 0"
        elif default in ("0", "False"):
            condition = value
        else:
            condition = f"{value} != {default}"
        return [f"if {condition}:", f"    present |= {bit}", f"    scalars.append({value})"]

    def _entry_points(self) -> None:
        root = self.schema.root
        self.emit(f"\n\ndef read(reader: Reader, identifier: bytes = FILE_IDENTIFIER) -> {root}:")
        self.emit('    """Decode a whole buffer. Raises ``InvalidFile`` with the table path and the byte."""')
        self.emit(f"    return reader.root(identifier, _read_{snake_case(root)})")
        self.emit(f"\n\ndef write(writer: Writer, value: {root}) -> int:")
        self.emit('    """Encode ``value``; the result is the root for ``Writer.finish``."""')
        self.emit(f"    return _write_{snake_case(root)}(writer, value)")


def constant(name: str) -> str:
    """Name of the module-level constant that describes a type."""
    return "_" + snake_case(name).upper()


def type_variable(name: str) -> str:
    """Name of the type variable for the classes that are laid out as a table."""
    return f"{name}Class"


def word(slot: Slot, position: str) -> str:
    """Expression that reads a scalar; its alignment was checked with the table's layout."""
    assert slot.scalar is not None
    shift = {1: "", 2: " >> 1", 4: " >> 2", 8: " >> 3"}[slot.scalar.size]
    index = f"({position}){shift}" if shift else position
    return f"r.{slot.scalar.view}[{index}]"


def follow(position: str) -> str:
    return f"{position} + r.u32[({position}) >> 2]"


MODULES = {
    "program": "The program in a ``.pte`` file.",
    "flat_tensor": "The table of tensors in a ``.ptd`` file.",
    "bundled_program": "The program and its test cases in a ``.bpte`` file.",
    "xnnpack": "The graph in a blob for the XNNPACK backend.",
}


def generate(name: str) -> str:
    """The text of ``generated/<name>.py``. Raises ``SchemaError``."""
    source = HERE / f"{name}.fbs"
    return Emitter(parse(source), source.name, MODULES[name]).module()


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(argv)
    stale = False
    for name in MODULES:
        path = HERE / "generated" / f"{name}.py"
        text = generate(name)
        if path.exists() and path.read_text() == text:
            continue
        stale = True
        if options.check:
            print(f"{path.name} is out of date: run `python -m et_schema.generate`", file=sys.stderr)
        else:
            path.write_text(text)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
