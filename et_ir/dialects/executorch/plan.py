"""A method: its registers and its instructions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, SymbolNameConstraint, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.executorch.attributes import ArenaDeviceAttr
from et_ir.dialects.executorch.chain import ChainOp
from et_ir.dialects.executorch.instructions import Instruction, ReturnOp, is_instruction
from et_ir.dialects.executorch.registers import InputOp, RegisterOp, ViewOp, is_register
from et_ir.dialects.program.guards import Guards, GuardsAttr
from et_ir.dialects.program.trees import TreeAttr, tree_attribute

__all__ = ["PlanOp"]

_OPTION_AHEAD = re.compile(r"\{(?:\s|//[^\n]*\n)*\w+(?:\s|//[^\n]*\n)*[=,}]")
_OPTIONS = ("arenas", "bounds", "devices", "in_spec", "out_spec", "stack_traces", "guards")


@irdl_op_definition
class PlanOp(IRDLOperation):
    """One method as the runtime executes it: blocks of registers and instructions.

    The order of registers in the text is their order in the file. `arenas` are the bytes of each arena from
    number 1 on, written by memory planning, `bounds` the bytes that each cannot do without where planning was
    to prove that (files do not have them), and `devices` those that are not on the CPU. `in_spec` and
    `out_spec` say how nested inputs and outputs flatten (torch's pytree specs as JSON). With `stack_traces`
    the file has the source lines of each instruction. `guards` are what it demands of its inputs' sizes.

    ```mlir
    executorch.plan @forward {arenas = array<i64: 32>} {
      %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
      %r = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
      executorch.kernel_call "aten::relu.out"(%x) outs(%r)
      executorch.return %r
    }
    ```

    Rules: `plan_c1` it holds registers and instructions; `plan_c2` its last block ends with the only return;
    `plan_c3` a plan of several blocks declares its registers in the first; `plan_c4` no block has arguments;
    `plan_c5` where there are chains, each instruction is in one; `plan_c6` a jump stays in its chain, whose end is the
    last place it may go to.

    Syntax: `@NAME [{OPTION = VALUE, …}] REGION`.
    """

    name = "executorch.plan"
    sym_name = prop_def(SymbolNameConstraint())
    """The method's name."""
    arenas = opt_prop_def(DenseArrayBase.constr(i64))
    """Bytes of each arena, from number 1 on; absent before memory planning."""
    bounds = opt_prop_def(DenseArrayBase.constr(i64))
    """Bytes that each arena needs at least, where planning proved that; files do not have them."""
    devices = opt_prop_def(base(ArrayAttr[ArenaDeviceAttr]))
    """Devices of the arenas that are not on the CPU."""
    in_spec = opt_prop_def(base(StringAttr) | base(TreeAttr))
    """The nesting of the inputs: torch's pytree spec."""
    out_spec = opt_prop_def(base(StringAttr) | base(TreeAttr))
    """The nesting of the outputs."""
    stack_traces = opt_prop_def(UnitAttr)
    """The file is to have the source lines of each instruction."""
    guards = opt_prop_def(base(GuardsAttr))
    """Conditions on the sizes of the inputs, checked by the runtime."""
    body = region_def()
    """Registers and instructions, in one or more blocks."""
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        body: Region,
        *,
        in_spec: str | None = None,
        out_spec: str | None = None,
        guards: Guards | None = None,
    ):
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        if in_spec is not None:
            properties["in_spec"] = tree_attribute(in_spec)
        if out_spec is not None:
            properties["out_spec"] = tree_attribute(out_spec)
        if guards is not None:
            properties["guards"] = GuardsAttr(guards)
        super().__init__(properties=properties, regions=[body])

    @property
    def key(self) -> str:
        """The method's name."""
        return self.sym_name.data

    @property
    def blocks(self) -> list[Block]:
        return list(self.body.blocks)

    @property
    def registers(self) -> list[RegisterOp]:
        """The declarations in the order of the file's values."""
        return [op for block in self.body.blocks for op in block.ops if is_register(op)]

    @property
    def inputs(self) -> list[InputOp]:
        """The inputs in the order of the method's signature."""
        return [op for block in self.body.blocks for op in block.ops if type(op) is InputOp]

    @property
    def instructions(self) -> list[Instruction]:
        """Instructions and ends of blocks in the order of the text."""
        return [op for block in self.body.blocks for op in block.ops if is_instruction(op)]

    def declare(self, register: RegisterOp, use: Operation) -> SSAValue:
        """Declare a register for an op to use: in front of it, or, where the plan has several blocks, in the first,
        a view behind what it views. Returns the register.
        """
        anchor: Operation | None = use
        if len(self.body.blocks) > 1:
            base = register.base.owner if isinstance(register, ViewOp) else None
            anchor = base.next_op if isinstance(base, Operation) else self.blocks[0].first_op
        assert anchor is not None
        block = anchor.parent_block()
        assert block is not None
        register.location = use.location
        block.insert_op_before(register, anchor)
        return register.result

    @property
    def chains(self) -> list[ChainOp]:
        """The beginnings of chains in the order of the text; none in a plan of one chain without inputs and outs."""
        return [op for block in self.body.blocks for op in block.ops if type(op) is ChainOp]

    @property
    def return_op(self) -> ReturnOp:
        """The end of the plan. Raises `VerifyException` if it has none."""
        block = self.body.last_block
        op = None if block is None else block.last_op
        if not isinstance(op, ReturnOp):
            raise VerifyException("[plan_c2] the last block must end with executorch.return")
        return op

    @property
    def arena_sizes(self) -> list[int] | None:
        """Bytes of each arena from number 1 on; `None` before memory planning."""
        return None if self.arenas is None else list(cast(Sequence[int], self.arenas.get_values()))

    def set_arena_sizes(self, sizes: Sequence[int], bounds: Sequence[int] | None = None) -> None:
        """Note the bytes of each arena, and what no plan can do without; bounds of an older plan are dropped."""
        self.arenas = DenseArrayBase.from_list(i64, list(sizes))
        self.bounds = None if bounds is None else DenseArrayBase.from_list(i64, list(bounds))

    def verify_(self) -> None:
        blocks = self.blocks
        returns = 0
        for index, block in enumerate(blocks):
            if block.args:
                raise VerifyException(
                    "[plan_c4] blocks take no arguments: they share values through registers"
                )
            for op in block.ops:
                if isinstance(op, RegisterOp):
                    if index:
                        raise VerifyException(f"[plan_c3] '{op.name}' is declared after the first block")
                elif isinstance(op, ReturnOp):
                    returns += 1
                elif not is_instruction(op) and type(op) is not ChainOp and op.name not in _TEMPORARY:
                    raise VerifyException(f"[plan_c1] '{op.name}' is neither a register nor an instruction")
        if returns != 1 or not isinstance(blocks[-1].last_op, ReturnOp):
            raise VerifyException("[plan_c2] the last block must end with the only executorch.return")
        self._verify_chains()
        if self.guards is not None:
            self.guards.verify_inputs([op.result.type for op in self.inputs])

    def _verify_chains(self) -> None:
        starts: list[int] = []
        positions: dict[Block, int] = {}
        jumps: list[tuple[Operation, int]] = []
        position = 0
        for block in self.body.blocks:
            positions[block] = position
            for op in block.ops:
                if type(op) is ChainOp:
                    starts.append(position)
                elif not is_register(op) and type(op) is not ReturnOp:
                    if op.successors:
                        jumps.append((op, position))
                    position += 1
        if not starts:
            return
        if starts[0]:
            raise VerifyException("[plan_c5] an executorch.chain must stand before the first instruction")
        for op, place in jumps:
            chain = bisect_right(starts, place)
            first, end = starts[chain - 1], [*starts, position][chain]
            if not all(first <= positions[target] <= end for target in op.successors):
                raise VerifyException(f"[plan_c6] this '{op.name}' leaves its chain")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.key)
        shown = {name: self.properties[name] for name in _OPTIONS if name in self.properties}
        if shown:
            printer.print_string(" ")
            printer.print_attr_dict(shown)
        if self.attributes:
            printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        position = parser.pos
        # Options and body both start with a brace; no operation is called like an option.
        content = parser.lexer.input.content
        has_options = _OPTION_AHEAD.match(content, position) is not None
        properties = parser.parse_optional_dictionary_attr_dict() if has_options else {}
        for key in properties:
            if key not in _OPTIONS:
                parser.raise_error(f"'{key}' is not one of {', '.join(_OPTIONS)}", position, parser.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        return cls.create(
            properties={"sym_name": name, **properties},
            attributes={} if attributes is None else attributes.data,
            regions=[body],
        )


_TEMPORARY = frozenset({"program.store", "program.overwrite"})
"""Ops of other dialects that stand in a plan between two passes: a store waits for write-back."""
