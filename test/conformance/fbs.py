"""Schemas of FlatBuffers as plain values: those that stock ships as text, and ours as declared.

Of a table only what is on the wire counts: by slot the name, the type, the default and the alignment of its bytes. The
parser takes the subset of the language that stock's schemas are written in; what it does not know is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from importlib import resources
from typing import Any

from et_schema.tables import Kind, fields_of, tables_below

SCALARS = {
    "bool": "bool",
    "byte": "i8",
    "ubyte": "u8",
    "short": "i16",
    "ushort": "u16",
    "int": "i32",
    "uint": "u32",
}
SCALARS |= {"long": "i64", "ulong": "u64", "float": "f32", "double": "f64"}
SCALARS |= {
    f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)
}


@dataclass
class Schema:
    """`layouts` by table, then by slot; `enums` with the type of the number; `unions` in the order of numbers."""

    identifier: str = ""
    layouts: dict[str, dict[int, tuple[str, str, Any, int]]] = field(default_factory=dict)
    enums: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)
    unions: dict[str, list[str]] = field(default_factory=dict)


def stock(package: str, name: str) -> Schema:
    """The schema that a package of stock ships, with what it includes."""
    schema = Schema()
    bodies: dict[str, str] = {}
    _parse(package, name, schema, bodies)
    for table, body in bodies.items():
        schema.layouts[table] = _layout(body, schema)
    return schema


def _parse(package: str, name: str, schema: Schema, bodies: dict[str, str]) -> None:
    text = re.sub(r"//[^\n]*", "", (resources.files(package) / name).read_text(encoding="utf-8"))
    members: dict[str, str] = {}
    for keyword, rest, body in re.findall(r"(\w+)\s+([^;{]+?)\s*(?:;|\{([^}]*)\})", text):
        match keyword:
            case "include":
                _parse(package, rest.strip('"'), schema, bodies)
            case "file_identifier":
                schema.identifier = rest.strip('"')
            case "namespace" | "file_extension" | "root_type" | "attribute":
                pass
            case "enum":
                kind, base = re.fullmatch(r"(\w+)\s*:\s*(\w+)", rest).groups()
                numbers = dict(re.findall(r"(\w+)\s*=\s*(\d+)", body))
                schema.enums[kind] = (
                    SCALARS[base],
                    {member: int(number) for member, number in numbers.items()},
                )
            case "union":
                items = [re.split(r"\s*:\s*", item.strip()) for item in body.split(",") if item.strip()]
                schema.unions[rest] = [item[0] for item in items]
                members |= {item[0]: item[-1] for item in items}
            case "table":
                bodies[rest] = body
            case _:
                raise ValueError(f"{name}: {keyword} {rest}")
    # A member that is laid out as another table is a table of its own; the other is none if it is nothing else.
    for member, layout in members.items():
        bodies[member] = bodies[layout]
    for layout in set(members.values()) - set(members):
        del bodies[layout]


def _layout(body: str, schema: Schema) -> dict[int, tuple[str, str, Any, int]]:
    slots: dict[int, tuple[str, str, Any, int]] = {}
    slot = 0
    for declaration in filter(None, map(str.strip, body.split(";"))):
        parts = re.fullmatch(
            r"(\w+)\s*:\s*(\[?)([\w.]+)\]?\s*(?:=\s*([\w.-]+))?\s*(?:\((.*)\))?", declaration
        )
        if parts is None:
            raise ValueError(declaration)
        name, vector, kind, default, attributes = parts.groups()
        kind = kind.rpartition(".")[2]
        names = dict(re.findall(r"(\w+)(?:\s*:\s*(\d+))?", attributes or ""))
        if not names.keys() <= {"deprecated", "force_align"}:
            raise ValueError(declaration)
        if "deprecated" not in names:
            written = f"[{SCALARS.get(kind, kind)}]" if vector else SCALARS.get(kind, kind)
            if kind in schema.enums:
                value: Any = default or next(
                    name for name, number in schema.enums[kind][1].items() if number == 0
                )
            else:
                value = None if vector or kind not in SCALARS else float(default or 0)
            slots[slot] = (name, written, value, int(names.get("force_align", 1)))
        slot += 2 if kind in schema.unions else 1
    return slots


def ours(root: type, identifier: bytes) -> Schema:
    """The declarations of a table and all below it."""
    schema = Schema(identifier.decode())
    for table in tables_below(root):
        slots: dict[int, tuple[str, str, Any, int]] = {}
        for item in fields_of(table):
            default: Any = None
            scalar = item.scalar.name if item.scalar is not None else ""
            match item.kind:
                case Kind.SCALAR | Kind.BOOL:
                    written, default = scalar, float(item.default)
                case Kind.ENUM:
                    (enum,) = item.types
                    assert issubclass(enum, IntEnum)
                    written, default = item.kind_name, item.default.name
                    schema.enums[item.kind_name] = (scalar, {member.name: int(member) for member in enum})
                case Kind.STRING:
                    written = "string"
                case Kind.STRINGS:
                    written = "[string]"
                case Kind.BYTES | Kind.BLOB:
                    written = "[u8]"
                case Kind.VECTOR:
                    written = f"[{scalar}]"
                case Kind.TABLE | Kind.TABLES:
                    written = item.types[0].__name__
                    written = f"[{written}]" if item.kind is Kind.TABLES else written
                case Kind.UNION:
                    written = item.kind_name
                    schema.unions[written] = [member.__name__ for member in item.types]
            slots[item.slot] = (item.name, written, default, item.alignment)
        schema.layouts[table.__name__] = slots
    return schema
