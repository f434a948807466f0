"""Generated C header: error codes, element types, opcodes and schema tables.

It is derived from the declarations that the rest of the project uses to read and write files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import cast

from et_ops.conventions import ET_VIEW
from et_schema.errors import Error
from et_schema.program import (
    FILE_IDENTIFIER,
    InstructionArguments,
    KernelTypes,
    Program,
    TensorShapeDynamism,
)
from et_schema.pte import HEADER_AT, HEADER_MAGIC, MINIMUM_FILE_SIZE
from et_schema.scalar_type import ScalarType
from et_schema.tables import Field, Kind, fields_of, tables_below
from et_vm.load.opcodes import BY_TABLE
from et_vm.verify.tensors import HELD_TYPES

__all__ = ["kind_mask", "tables_header"]

_FIELD_KINDS = ("SCALAR", "ENUM", "STRING", "BLOB", "VECTOR", "BOOLS", "TABLE", "TABLES", "UNION")
_KINDS = tuple(member.__name__ for member in KernelTypes.__args__)


def constant_name(name: str) -> str:
    """`InvalidProgram` as `INVALID_PROGRAM`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def kind_mask(kinds: frozenset[str]) -> int:
    """The kinds of values that a parameter takes as bits, by the numbers of the union in files."""
    return sum(1 << _KINDS.index(kind) + 1 for kind in kinds)


def tables_header() -> str:
    """The text of `et_tables.h`."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "/* Generated from the declarations of the format: do not edit. */"
    yield "#ifndef ET_TABLES_H\n#define ET_TABLES_H\n\n#include <stdint.h>\n"
    yield from _enumeration("et_error", "ET_ERROR", Error)
    yield from _enumeration("et_type", "ET_TYPE", ScalarType)
    yield from _enumeration("et_dynamism", "ET_DYNAMISM", TensorShapeDynamism)
    yield "/* Bytes of an element by type; 0 for those that programs do not hold. */"
    yield f"#define ET_ITEM_SIZES {{{_sizes()}}}"
    yield "/* What a register holds. */\nenum {"
    yield from (f"  ET_KIND_{constant_name(name)} = {at}," for at, name in enumerate(_KINDS, 1))
    yield "};\nenum {"
    opcodes = [member.__name__ for member in InstructionArguments.__args__]
    yield from (f"  ET_OPCODE_{constant_name(name)} = {at}," for at, name in enumerate(opcodes, 1))
    mnemonics = ", ".join(f'"{BY_TABLE[name].mnemonic}"' for name in opcodes)
    yield f'}};\n/* By opcode. */\n#define ET_MNEMONICS {{"", {mnemonics}}}'
    yield f"#define ET_MINIMUM_FILE_SIZE {MINIMUM_FILE_SIZE}"
    yield f"#define ET_HEADER_AT {HEADER_AT}"
    yield f'#define ET_HEADER_MAGIC "{HEADER_MAGIC.decode()}"'
    yield f'#define ET_VIEW "{ET_VIEW}"'
    yield f'#define ET_FILE_IDENTIFIER "{FILE_IDENTIFIER.decode()}"\n'
    yield from _schema()
    yield "#endif"


def _enumeration(name: str, prefix: str, members: type[IntEnum]) -> Iterator[str]:
    yield f"typedef enum {name} {{"
    yield from (f"  {prefix}_{constant_name(member.name)} = {member.value}," for member in members)
    yield f"}} {name};\n"


def _sizes() -> str:
    return ", ".join(str(kind.itemsize if kind in HELD_TYPES else 0) for kind in ScalarType)


def _schema() -> Iterator[str]:
    """The schema: the slots as constants, and what the check of a file walks over.

    The members of a union are tables with consecutive numbers, in the order of the union.
    """
    members = [*KernelTypes.__args__, *InstructionArguments.__args__]
    tables = [*members, *(table for table in tables_below(Program) if table not in members)]
    number = {table: at for at, table in enumerate(tables)}
    fields: list[str] = []
    rows: list[str] = []
    yield "/* Slots of the fields of tables. */\nenum {"
    for table in tables:
        declared = fields_of(table)
        rows.append(f"{{{len(fields)}, {len(declared)}}}")
        for field in declared:
            for slot in field.slots:
                yield f"  ET_{constant_name(table.__name__)}_{slot.name.upper()} = {slot.number},"
            fields.append(_field(field, number))
    yield "};\n\n/* Kinds of fields. */\nenum {"
    yield from (f"  ET_FIELD_{name}," for name in _FIELD_KINDS)
    yield "};\ntypedef struct et_schema_field {\n  uint8_t slot, kind;"
    yield "  uint8_t inline_size; /* bytes in the table itself */"
    yield "  uint8_t count;       /* members of an enumeration or union; bytes of an element of a vector */"
    yield "  uint8_t table;       /* the first that it may lead to */\n} et_schema_field;"
    yield "typedef struct et_schema_table {\n  uint8_t first, count;\n} et_schema_table;"
    yield f"#define ET_SCHEMA_PROGRAM {number[Program]}"
    yield "#ifdef ET_SCHEMA"
    yield "static const et_schema_table et_schema_tables[] = {" + ", ".join(rows) + "};"
    yield "static const et_schema_field et_schema_fields[] = {" + ", ".join(fields) + "};"
    yield "#endif"


def _field(field: Field, number: dict[type, int]) -> str:
    kind, inline, count, table = "SCALAR", 4, 0, 0
    if field.inline:
        assert field.scalar is not None
        inline = field.scalar.size
        assert not field.default, f"{field.name}: readers in C take an absent field for 0"
    match field.kind:
        case Kind.BOOL:
            kind, count = "ENUM", 2
        case Kind.ENUM:
            members = list(cast("type[IntEnum]", field.types[0]))
            kind, count = "ENUM", len(members)
            assert sorted(members) == list(range(count))
            assert inline == 1
        case Kind.STRING | Kind.BLOB:
            kind = field.kind.name
        case Kind.BYTES:
            kind, count = "VECTOR", 1
        case Kind.VECTOR:
            assert field.scalar is not None
            kind, count = ("BOOLS", 1) if field.scalar.code == "?" else ("VECTOR", field.scalar.size)
        case Kind.TABLE | Kind.TABLES:
            kind, table = field.kind.name, number[field.types[0]]
        case Kind.UNION:
            kind, count, table = "UNION", len(field.types), number[field.types[0]]
            assert [number[member] for member in field.types] == list(range(table, table + count))
        case Kind.STRINGS:
            raise TypeError(f"{field.name}: no program has a vector of strings")
        case _:
            pass
    return f"{{{field.slot}, ET_FIELD_{kind}, {inline}, {count}, {table}}}"
