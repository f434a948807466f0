"""Random damage to a file: to the values of a program, to any of its tables, or to its bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from enum import IntEnum
from random import Random
from struct import pack_into
from typing import Any

from et_schema import program as schema
from et_schema.errors import ExecutorchError
from et_schema.pte import read_pte, serialize_pte

INTS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    16,
    17,
    127,
    255,
    2**15,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
    2**40,
    2**63 - 1,
    -(2**63),
)
FLOATS = (0.0, -0.0, 1.0, -1.5, 1e308, float("inf"), float("-inf"), float("nan"))
STRINGS = (
    "",
    "é",
    "x" * 300,
    "aten::add",
    "aten::mul",
    "aten::cat",
    "aten::convolution",
    "aten::permute_copy",
    "aten::clone",
    "aten::sum",
    "aten::index",
    "aten::full",
    "executorch_prim::et_view",
    "executorch_prim::et_copy_index",
    "executorch_prim::add",
    "aten::sym_size",
    "out",
    "Tensor_out",
    "IntList_out",
    "Scalar",
    "int",
    "default",
)
# Bytes of an arena, enough for changed tensors.
ARENA = 1 << 16
# Tables that stand for values and instructions, made anew each time.
VALUES: tuple[Callable[[Random], Any], ...] = (
    lambda random: schema.Null(),
    lambda random: schema.Int(random.choice(INTS)),
    lambda random: schema.Bool(random.random() < 0.5),
    lambda random: schema.Double(random.choice(FLOATS)),
    lambda random: schema.String(random.choice(STRINGS)),
    lambda random: schema.IntList(_registers(random)),
    lambda random: schema.DoubleList([random.choice(FLOATS)] * random.randrange(3)),
    lambda random: schema.BoolList([True] * random.randrange(3)),
    lambda random: schema.TensorList(_registers(random)),
    lambda random: schema.OptionalTensorList(_registers(random)),
    lambda random: schema.Tensor(schema.ScalarType.FLOAT, 0, [random.randrange(4)], b"\0"),
)
INSTRUCTIONS: tuple[Callable[[Random], Any], ...] = (
    lambda random: schema.KernelCall(random.randrange(4), _registers(random)),
    lambda random: schema.DelegateCall(random.randrange(2), _registers(random)),
    lambda random: schema.MoveCall(random.randrange(12), random.randrange(12)),
    lambda random: schema.JumpFalseCall(random.randrange(12), random.randrange(6)),
    lambda random: schema.FreeCall(random.randrange(12)),
)


def _registers(random: Random) -> list[int]:
    return [random.randrange(-1, 14) for _ in range(random.randrange(6))]


def mutated_program(data: bytes, random: Random) -> bytes:
    """`data`, a good file, with one to four fields or elements of its tables changed; and perhaps bytes of its
    segments.
    """
    file = read_pte(data)
    segments = [[bytearray(segment)] for segment in file.segments]
    alignment = random.choice((128, 128, 128, 16, 1))
    change_tables(file.program, random, [segment for (segment,) in segments])
    try:
        return serialize_pte(
            file.program, [[bytes(segment)] for (segment,) in segments], segment_alignment=alignment
        )
    except UNWRITABLE:
        return mutated_bytes(data, random)


def change_tables(root: Any, random: Random, segments: Sequence[bytearray] = ()) -> None:
    """Change one to four fields or elements of a table and those in it; and perhaps bytes of segments."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if segments and random.random() < 0.05:
            segment = random.choice(segments)
            if segment:
                segment[random.randrange(len(segment))] = random.randrange(256)
            continue
        mutate_tables(root, random)


UNWRITABLE = (ExecutorchError, KeyError, TypeError, ValueError, OverflowError, UnicodeEncodeError)
"""Exceptions of writing tables that the schema cannot hold."""


def mutate_tables(root: Any, random: Random) -> None:
    """Change a field or an element of one of the tables below `root`, which may then be none of its schema."""
    tables = _tables(root)
    table = random.choice(tables)
    names = [field.name for field in fields(table)]
    if names:
        name = random.choice(names)
        setattr(table, name, _mutated(getattr(table, name), table, name, tables, random))


def mutated_values(data: bytes, random: Random) -> bytes:
    """`data`, a good file, with a few values and operands exchanged for others that pass for them, and larger
    arenas: most cases get as far as the kernels.
    """
    file = read_pte(data)
    for plan in file.program.execution_plan:
        sizes = plan.non_const_buffer_sizes
        sizes[1:] = [max(size, ARENA) for size in sizes[1:]]
        calls = [
            holder.instr_args
            for chain in plan.chains
            for holder in chain.instructions
            if isinstance(holder.instr_args, schema.KernelCall) and holder.instr_args.args
        ]
        for _ in range(random.choice((1, 1, 2, 3))):
            if calls and random.random() < 0.3:
                _change_call(random.choice(calls), plan, random)
            elif plan.values:
                _change_value(random.choice(plan.values).val, plan, random)
    return serialize_pte(file.program, [[bytes(segment)] for segment in file.segments])


def _change_call(call: schema.KernelCall, plan: schema.ExecutionPlan, random: Random) -> None:
    at = random.randrange(len(call.args))
    same = [
        index
        for index, value in enumerate(plan.values)
        if type(value.val) is type(plan.values[call.args[at]].val)
    ]
    if random.random() < 0.2:
        call.op_index = random.randrange(len(plan.operators))
    else:
        old, new = call.args[at], random.choice(same)
        # An output is named twice.
        call.args = [new if register == old else register for register in call.args]


def _change_value(value: Any, plan: schema.ExecutionPlan, random: Random) -> None:
    match value:
        case schema.Int():
            number = random.choice((value.int_val + 1, value.int_val - 1, *INTS))
            value.int_val = max(-(2**63), min(number, 2**63 - 1))
        case schema.Double():
            value.double_val = random.choice(FLOATS)
        case schema.Bool():
            value.bool_val = not value.bool_val
        case schema.IntList() | schema.TensorList() | schema.OptionalTensorList() | schema.BoolList():
            items: list[Any] = value.items
            value.items = random.choice((items[1:], items + items[:1], items[::-1], items * 3, []))
        case schema.Tensor():
            action = random.randrange(5)
            rank = len(value.sizes)
            if action == 0:
                value.scalar_type = random.choice(list(schema.ScalarType))
            elif action == 1:
                value.sizes = [*value.sizes, random.randrange(3)]
                value.dim_order = bytes(range(rank + 1))
            elif action == 2 and rank:
                value.dim_order = bytes(random.sample(range(rank), rank))
            elif action == 3:
                value.shape_dynamism = random.choice(list(schema.TensorShapeDynamism))
            elif rank:
                at = random.randrange(rank)
                value.sizes[at] = random.choice((0, 1, value.sizes[at] + 1, max(value.sizes[at] - 1, 0), 17))
        case _:
            pass


def _tables(root: Any) -> list[Any]:
    found: list[Any] = []
    pending = [root]
    while pending:
        table = pending.pop()
        found.append(table)
        for field in fields(table):
            value = getattr(table, field.name)
            if is_dataclass(value):
                pending.append(value)
            elif isinstance(value, list):
                pending += [item for item in value if is_dataclass(item)]
    return found


def _mutated(value: Any, table: Any, name: str, tables: list[Any], random: Random) -> Any:
    if isinstance(table, schema.EValue):
        return random.choice(VALUES)(random)
    if isinstance(table, schema.Instruction):
        return random.choice(INSTRUCTIONS)(random)
    if isinstance(value, IntEnum):
        return random.choice(list(type(value)))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice((value + 1, value - 1, random.randrange(16), random.choice(INTS)))
    if isinstance(value, float):
        return random.choice(FLOATS)
    if isinstance(value, str):
        return random.choice(STRINGS)
    if isinstance(value, list):
        return _mutated_list(value, table, name, tables, random)
    if value is None or is_dataclass(value):
        # Another table of that kind, if one is there; it is shared then, and written twice.
        others = [getattr(other, name) for other in tables if type(other) is type(table)]
        return random.choice((None, *others))
    raw = bytearray(value)
    if raw and random.random() < 0.7:
        raw[random.randrange(len(raw))] = random.randrange(256)
    return bytes(raw[: random.randrange(len(raw) + 1)] if random.random() < 0.3 else raw)


def _mutated_list(value: list[Any], table: Any, name: str, tables: list[Any], random: Random) -> list[Any]:
    items = list(value)
    action = random.randrange(6)
    if not items or action == 0:
        others = [getattr(other, name) for other in tables if type(other) is type(table)]
        return list(random.choice(others))
    at = random.randrange(len(items))
    if action == 1:
        del items[at]
    elif action == 2:
        items.insert(at, items[random.randrange(len(items))])
    elif action == 3:
        other = random.randrange(len(items))
        items[at], items[other] = items[other], items[at]
    elif action == 4:
        items = items * random.choice((2, 3)) if len(items) < 64 else items[:at]
    elif not is_dataclass(items[at]):
        items[at] = _mutated(items[at], table, name, tables, random)
    return items


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """`data` with bits, bytes or words changed, parts moved, or its end cut off."""
    damaged = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        if len(damaged) < 9:
            break
        at = random.randrange(len(damaged) - 8)
        action = random.randrange(8)
        if action == 0:
            damaged[at] ^= 1 << random.randrange(8)
        elif action == 1:
            damaged[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        elif action == 2:
            pack_into(
                "<I",
                damaged,
                at & ~3,
                random.choice((0, 4, 2**31 - 1, 2**32 - 1, len(data), random.randrange(64))),
            )
        elif action == 3:
            pack_into("<H", damaged, at & ~1, random.choice((0, 4, 2**16 - 1, random.randrange(64))))
        elif action == 4:
            pack_into("<q", damaged, at & ~7, random.choice((*INTS[:-3], 2**63 - 1, -1)))
        elif action == 5:
            # The header, and the root.
            pack_into(
                "<I", damaged, random.randrange(0, min(40, len(damaged) - 4), 4), random.randrange(2**12)
            )
        elif action == 6:
            other, length = random.randrange(len(damaged) - 8), random.choice((1, 4, 8, 64))
            damaged[at : at + length] = damaged[other : other + length][: len(damaged) - at]
        else:
            cut = random.random() < 0.3
            del damaged[at : None if cut else at + 4]
    return bytes(damaged)
