from dataclasses import fields
from typing import get_args

from et_schema import program as schema
from et_vm.load.opcodes import BY_TABLE, OPCODES


def test_every_instruction_of_the_schema_has_an_opcode():
    assert set(BY_TABLE) == {table.__name__ for table in get_args(schema.InstructionArguments)}


def test_operands_are_the_fields_of_the_table():
    for opcode in OPCODES:
        table = getattr(schema, opcode.table)
        assert [name for name, _ in opcode.operands] == [field.name for field in fields(table)]


def test_mnemonics_are_unique():
    assert len({opcode.mnemonic for opcode in OPCODES}) == len(OPCODES)
