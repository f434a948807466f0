"""The instruction set: one table, from which dispatch, disassembly and documentation derive."""

from __future__ import annotations

from typing import NamedTuple


class Opcode(NamedTuple):
    """One kind of instruction.

    `table` is the schema table of its arguments, `mnemonic` its name in listings, `operands` the
    roles of its fields (`field: role`) and `synopsis` what it does.
    """

    table: str
    mnemonic: str
    operands: tuple[tuple[str, str], ...]
    synopsis: str


OPCODES: tuple[Opcode, ...] = (
    Opcode(
        "KernelCall",
        "call",
        (("op_index", "operator"), ("args", "registers")),
        "Run an operator's kernel on registers: inputs, outputs, and the outputs again.",
    ),
    Opcode(
        "DelegateCall",
        "delegate",
        (("delegate_index", "delegate"), ("args", "registers")),
        "Hand registers (inputs, then outputs) to a backend.",
    ),
    Opcode(
        "MoveCall",
        "move",
        (("move_from", "register"), ("move_to", "register")),
        "Make a register hold what another holds; a tensor's bytes are shared, not copied.",
    ),
    Opcode(
        "JumpFalseCall",
        "jump_false",
        (("cond_value_index", "register"), ("destination_instruction", "instruction")),
        "Go to an instruction of the chain unless a Bool, or every element of a Bool tensor, is true.",
    ),
    Opcode(
        "FreeCall",
        "free",
        (("value_index", "register"),),
        "Take the bytes away from a tensor register.",
    ),
)

BY_TABLE: dict[str, Opcode] = {opcode.table: opcode for opcode in OPCODES}
"""Opcode by the name of its schema table, which is the class name of a decoded instruction."""
