"""Method of edge ops built from a plan: abstract execution of its instructions on values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.backend import CallOp
from et_ir.dialects.control import CondOp, YieldOp
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge.attributes import contiguous, dim_order_of, with_dim_order
from et_ir.dialects.edge.layout import layout_problems
from et_ir.dialects.executorch import (
    ChainOp,
    ConstantOp,
    DelegateCallOp,
    FreeOp,
    InputOp,
    JumpFalseOp,
    JumpOp,
    KernelCallOp,
    MemoryRegisterOp,
    MoveOp,
    PlanOp,
    RegisterOp,
    ReturnOp,
    StateOp,
    TensorRegisterOp,
    ValueOp,
    ViewOp,
    is_register,
)
from et_ir.dialects.executorch.arguments import ListValue, literal_attribute, literal_value
from et_ir.dialects.executorch.layout import Tensor, dim_order, is_contiguous, nbytes
from et_ir.dialects.program import (
    FUNCTIONS,
    ComputeOp,
    GetOp,
    Globals,
    LiteralOp,
    LoadOp,
    OverwriteOp,
    StoreOp,
)
from et_ir.dialects.program.guards import GUARDS
from et_ir.dialects.program.trees import IN_SPEC, OUT_SPEC
from et_ir.dialects.schema.literals import is_element_type
from et_ir.dialects.schema.sizes import RANGES, RangesAttr
from et_ir.dialects.schema.tensors import has_equal_sizes, is_tensor, layout_of, sized_tensor, tensor_type
from et_ir.passes.raising.calls import (
    PRIMITIVES,
    TRUNCATED,
    CannotRaise,
    Custom,
    build,
    functional_arguments,
    functional_op,
    is_never_negative,
    verify,
)
from et_ir.passes.raising.contents import Contents, Definition, Location
from et_ir.passes.raising.delegate_types import DelegateTypes
from et_ir.passes.raising.liveness import LiveRegisters
from et_ir.passes.raising.memory_reads import Reader
from et_ir.passes.raising.sizes import InputSizes
from et_ops.conventions import COPY, ET_VIEW, UPDATE_CACHE, is_in_place
from et_schema.program import TensorShapeDynamism

__all__ = ["Loops", "MethodRaiser"]

_NUMBERED: Final = "r"
SYM_SIZE: Final = "aten::sym_size.int"


class Loops(Protocol):
    """Recovery of loops: `et_ir.passes.raising.loops`."""

    def raise_loop(self, method: MethodRaiser, header: Block) -> Block:
        """Add the loop that a block is the header of. Returns the block after it."""
        ...

    def loop_behind(self, method: MethodRaiser, jump: JumpFalseOp) -> Block | None:
        """The header of the loop that a jump leads to unless it has no turns, where that says it all."""
        ...


class MethodRaiser:
    """Raises one plan; `diagnostics` has what cannot be raised."""

    def __init__(
        self,
        plan: PlanOp,
        symbols: Globals,
        custom: Custom,
        loops: Loops,
        delegates: DelegateTypes,
        sizes: InputSizes | None = None,
    ):
        self.plan = plan
        self._loops = loops
        self._delegates = delegates
        self.sizes = sizes
        """Sizes of inputs that are known at run time only, or a number for each on trial."""
        self.symbols = symbols
        self.custom = custom
        self.diagnostics: list[Diagnostic] = []
        self.block = Block()
        """Where ops are added."""
        self.contents = Contents()
        self._reader = Reader(self.insert)
        self.now: Operation = plan
        self.ways: dict[JumpFalseOp, Block] = {}
        """Jumps of loops whose other way is raised with the loop, and where they go on."""
        self.steps: dict[Operation, Callable[[KernelCallOp], None]] = {}
        """Instructions that loops have to do with: those that take slices, put items into stacks, and count."""
        self._first: dict[SSAValue, SSAValue] = {}
        """Values of inputs and state when the method begins."""

    def run(self) -> FuncOp | None:
        """The method, or none where `diagnostics` says why."""
        plan = self.plan
        # First, as ops that are in a method know the ranges of its symbols.
        function = FuncOp(plan.key, ([], []), Region(self.block))
        function.location = plan.location
        for name, attribute in ((IN_SPEC, plan.in_spec), (OUT_SPEC, plan.out_spec), (GUARDS, plan.guards)):
            if attribute is not None:
                function.attributes[name] = attribute
        if self.sizes is not None and self.sizes.ranges:
            function.attributes[RANGES] = RangesAttr.of(self.sizes.ranges)
        attributes: list[DictionaryAttr] = []
        for register in plan.registers:
            self.now = register
            try:
                _check_elements(register.result.type)
                self._begin(register, attributes)
            except CannotRaise as error:
                self._report(error)
        if self.diagnostics:
            return None
        try:
            self.live = LiveRegisters(plan, self.location)
            self.run_from(plan.blocks[0], None)
        except CannotRaise as error:
            self._report(error)
            return None
        last = function.body.block.last_op
        assert isinstance(last, FuncReturnOp)
        types = [argument.type for argument in function.body.block.args]
        function.function_type = FunctionType.from_lists(types, [value.type for value in last.arguments])
        if attributes:
            function.arg_attrs = ArrayAttr(attributes)
        return function

    def _report(self, error: CannotRaise) -> None:
        subject = self.now.key if isinstance(self.now, KernelCallOp) else ""
        self.diagnostics.append(diagnose(self.now, str(error), error.fix, subject=subject))

    # -- registers

    def _begin(self, register: RegisterOp, attributes: list[DictionaryAttr]) -> None:
        """Note what a register holds before the first instruction."""
        result = register.result
        name = _own_name(register)
        if isinstance(register, InputOp) and register.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND:
            raise CannotRaise(
                f"[raise_c4] the sizes of the input %{result.name_hint} have no bound",
                "compile the program from its source",
            )
        match register:
            case InputOp():
                argument = self.block.insert_arg(self._input_type(register), len(self.block.args))
                guards = self.plan.guards
                if register.given_name is not None:
                    name = register.given_name.data
                elif name is None and guards is not None and len(guards.data.inputs) == len(self.plan.inputs):
                    name = guards.data.inputs[len(attributes)]
                argument.name_hint = name
                entry: dict[str, Attribute] = {} if name is None else {"program.name": StringAttr(name)}
                if register.value is None:
                    self._first[result] = argument
                    self._write(result, argument)
                else:
                    entry["program.value"] = literal_attribute(literal_value(register.value))
                    self.contents.scalars[result] = argument
                attributes.append(DictionaryAttr(entry))
            case ConstantOp() | StateOp():
                symbol = self.symbols[register.key]
                if isinstance(register, ConstantOp):
                    loaded: GetOp | LoadOp = GetOp(register.key, symbol.type)
                else:
                    loaded = LoadOp(register.key, symbol.type)
                self.insert(loaded)
                loaded.result.name_hint = name
                self._first[result] = loaded.result
                type = symbol.type
                self.contents.write(self.location(result), nbytes(type), Definition(loaded.result, type))
            case ValueOp():
                self.contents.scalars[result] = literal_value(register.value)
            case _:
                pass

    def _input_type(self, register: InputOp) -> Attribute:
        type = register.result.type
        if self.sizes is None or not is_tensor(type):
            return type
        sizes = self.sizes.of(len(self.block.args), type.get_shape())
        return sized_tensor(type.element_type, sizes, layout_of(type))

    def location(self, register: SSAValue) -> Location:
        """Where the bytes of a register are."""
        found = self.contents.bindings.get(register)
        if found is not None:
            return found
        owner = register.owner
        if isinstance(owner, ViewOp):
            base = self.location(owner.base)
            return Location(base.space, base.start + owner.first_byte)
        if isinstance(owner, MemoryRegisterOp) and owner.place is not None:
            return Location(*owner.place)
        if isinstance(owner, ConstantOp):
            return Location(owner.key, 0)
        return Location(register, 0)

    def _write(self, register: SSAValue, value: SSAValue) -> None:
        type = cast(Tensor, register.type)
        self.contents.write(self.location(register), nbytes(type), Definition(value, type))
        if not _is_exact(register):
            self.contents.shapes[register] = value

    def read(self, register: SSAValue) -> Any:
        """The value of a register: of a number the Python number, where it is known."""
        if register in self.contents.scalars:
            return self.contents.scalars[register]
        type = cast(Tensor, register.type)
        place = self.location(register)
        if self.sizes is not None and register in self.contents.shapes:
            definition = self.contents.definition_at(place, nbytes(type))
            if definition is not None and definition.type.element_type == type.element_type:
                return self._in_current_shape(register, definition.value)
        pieces = self.contents.read(place, nbytes(type))
        if not pieces:
            raise CannotRaise(f"[raise_c6] %{register.name_hint} is read before it is written")
        value = self._reader.value(pieces, type)
        is_reinterpreted = any(piece.definition.type.element_type != type.element_type for piece in pieces)
        if not is_reinterpreted and (len(pieces) > 1 or value is not pieces[0].definition.value):
            self._write(register, value)  # the same bytes, so that the next read finds them together
        return value

    def _in_current_shape(self, register: SSAValue, value: SSAValue) -> SSAValue:
        """A value in the shape that a register with sizes known at run time has by now.

        The types of registers have bounds of sizes, so they do not tell whether two registers have the same sizes.
        """
        shape = self.contents.shapes[register]
        if shape is value or (isinstance(shape, SSAValue) and has_equal_sizes(shape.type, value.type)):
            return value
        if dim_order_of(tensor_type(value)) != contiguous(tensor_type(value).get_num_dims()):
            raise CannotRaise(
                f"[raise_c4] a tensor in another layout, of sizes known at run time only, is read as {register.type}",
                "compile the program from its source",
            )
        sizes = self._sizes(shape) if isinstance(shape, SSAValue) else shape
        made = build(OP_BY_NAME["view_copy"], value, sizes)
        if has_equal_sizes(made.result.type, value.type):
            made.drop_all_references()
            self.contents.shapes[register] = value
            return value
        self.insert(made)
        return made.result

    def _sizes(self, value: SSAValue) -> list[Any]:
        """The sizes of a tensor as numbers or values."""
        return [
            self._edge("sym_size.int", value, dim) if size < 0 else size
            for dim, size in enumerate(tensor_type(value).get_shape())
        ]

    def value(self, register: SSAValue) -> SSAValue:
        """The value of a register as an operand."""
        return self.operand(self.read(register))

    def operand(self, value: Any) -> SSAValue:
        if isinstance(value, SSAValue):
            return cast("SSAValue[Attribute]", value)
        literal = LiteralOp(value)
        self.insert(literal)
        return literal.result

    def insert(self, op: Operation) -> None:
        op.location = self.now.location
        self.block.add_op(op)

    def define(self, register: SSAValue, value: SSAValue) -> None:
        """Let a register hold a value from here on."""
        hint = register.name_hint
        if value.name_hint is None and hint is not None and not _is_numbered(hint):
            value.name_hint = hint
        if is_tensor(register.type):
            self._write(register, value)
        else:
            self.contents.scalars[register] = value

    # -- control flow

    def run_from(self, block: Block, stop: Block | None, loop: Block | None = None) -> None:
        """Raise instructions from a block on, up to another, to the end of the plan, or to where they go back to the
        header of the loop that they are in.
        """
        current: Block | None = block
        while current is not None and current is not stop:
            if self.live.is_loop_header(current) and current is not loop:
                current = self._loops.raise_loop(self, current)
                continue
            self.run_block(current)
            last = current.last_op
            assert last is not None
            self.now = last
            following: Block | None = None
            match last:
                case JumpOp():
                    following = last.target
                case JumpFalseOp() if last.target is loop:
                    following = loop  # of a loop that ends with its condition, which is raised with the loop
                case JumpFalseOp():
                    way = self.ways.get(last) or self._loops.loop_behind(self, last)
                    following = self._cond(last, current) if way is None else way
                case ReturnOp():
                    self._return(last)
                case _:
                    raise CannotRaise(f"[raise_c1] no counterpart of {last.name} at the edge level")
            current = None if following is loop else following

    def run_block(self, block: Block) -> None:
        """Raise the instructions of a block without the last, which says where to go on."""
        for op in block.ops:
            if not is_register(op) and op is not block.last_op and type(op) is not ChainOp:
                self.now = op
                self.instruction(op)

    def _cond(self, op: JumpFalseOp, block: Block) -> Block:
        """Raise both ways from a jump to where they meet, which is returned."""
        join = self.live.join(block)
        if join is None:
            raise CannotRaise("[raise_c5] the ways from this jump do not meet before the end of the plan")
        predicate = self.value(op.condition)
        before, outside = self.contents, self.block
        ways: list[tuple[Contents, Block]] = []
        for target in (op.fallthrough, op.target):
            self.contents, self.block = before.copy(), Block()
            self.run_from(target, join)
            ways.append((self.contents, self.block))
        self.now = op
        merged, values = self._merged(self.live.at(join), ways)
        regions = [Region(way) for _, way in ways]
        self.contents, self.block = merged, outside
        types = [value.type for value in cast(YieldOp, ways[0][1].last_op).values]
        made = CondOp(predicate, types, regions[0], regions[1])
        self.insert(made)
        for register, result in zip(values, made.outputs, strict=True):
            merged.bindings.pop(register, None)
            self.define(register, result)
        return join

    def _merged(
        self, live: Sequence[SSAValue], ways: Sequence[tuple[Contents, Block]]
    ) -> tuple[Contents, list[SSAValue]]:
        """The contents that both ways leave, and the registers that differ; their values are yielded."""
        differing: list[SSAValue] = []
        yielded: list[list[SSAValue]] = [[], []]
        for register in live:
            held: list[Any] = []
            for contents, way in ways:
                self.contents, self.block = contents, way
                try:
                    held.append(self.read(register))
                except CannotRaise:
                    break
            if len(held) != len(ways) or _is_same(held[0], held[1]):
                continue
            differing.append(register)
            for (contents, way), value, values in zip(ways, held, yielded, strict=True):
                self.contents, self.block = contents, way
                values.append(self.operand(value))
        for (contents, way), values in zip(ways, yielded, strict=True):
            self.contents, self.block = contents, way
            self.insert(YieldOp(values))
        return ways[0][0], differing

    def _return(self, op: ReturnOp) -> None:
        results = [
            self.value(value) if isinstance(value, SSAValue) else self.operand(value)
            for value in op.arguments
        ]
        done: set[str] = set()
        for register in self.plan.registers:
            first = self._first.get(register.result)
            if isinstance(register, StateOp) and register.key not in done:
                done.add(register.key)
                type = self.symbols[register.key].type
                pieces = self.contents.read(self.location(register.result), nbytes(type))
                if not pieces:
                    raise CannotRaise(f"[raise_c6] the state @{register.key} is lost in the method")
                value = self._reader.value(pieces, type)
                if value is not first:
                    self.insert(StoreOp(register.key, value))
            elif isinstance(register, InputOp) and register.aliased is not None and first is not None:
                value = self.value(register.result)
                if value is not first:
                    self.insert(OverwriteOp(first, value))
        self.insert(FuncReturnOp(*results))

    # -- instructions

    def instruction(self, op: Operation) -> None:
        match op:
            case KernelCallOp():
                self._kernel(op)
            case DelegateCallOp():
                inputs = [self.value(value) for value in op.inputs]
                types = [out.type for out in op.outs]
                if self.sizes is not None and not all(_is_exact(out) for out in op.outs):
                    types = self._delegates.result_types(op, inputs, types)
                    for out, type in zip(op.outs, types, strict=True):
                        self._check(out, type)
                made = CallOp(op.callee.string_value(), inputs, types)
                self.insert(made)
                for register, result in zip(op.outs, made.outputs, strict=True):
                    self.define(register, result)
            case MoveOp():
                self._move(op)
            case FreeOp():
                pass
            case _:
                raise CannotRaise(f"[raise_c1] no counterpart of {op.name} at the edge level")

    def _move(self, op: MoveOp) -> None:
        if is_tensor(op.target.type):
            self.contents.bindings[op.target] = self.location(op.source)
            if op.source in self.contents.shapes:
                self.contents.shapes[op.target] = self.contents.shapes[op.source]
        else:
            self.contents.scalars[op.target] = self.read(op.source)

    def _kernel(self, op: KernelCallOp) -> None:
        key = op.key
        if op in self.steps:
            self.steps[op](op)
        elif key == ET_VIEW:
            if not op.inputs or not is_tensor(op.inputs[0].type) or len(op.arguments) < 2 or not op.returned:
                raise CannotRaise(f"[raise_c2] '{ET_VIEW}' takes a tensor, sizes and a view")
            (base, *_), (view, *_) = op.inputs, op.returned
            if not isinstance(view.owner, ViewOp):
                self.contents.bindings[view] = self.location(base)
            sizes = op.arguments[1]
            if isinstance(sizes, ListValue):
                self.contents.shapes[view] = [
                    self.read(size) if isinstance(size, SSAValue) else size for size in sizes.items
                ]
        elif key == SYM_SIZE:
            self._size(op)
        elif key in PRIMITIVES:
            self._primitive(op, PRIMITIVES[key])
        elif key in TRUNCATED:
            self._truncated(op, is_quotient=TRUNCATED[key])
        elif key == COPY:
            self._copy(op)
        elif key == UPDATE_CACHE:
            self._update_cache(op)
        else:
            self._operator(op)

    def _update_cache(self, op: KernelCallOp) -> None:
        """A write of neighboring places, the second dimension of a cache. Nothing is written to the out."""
        if len(op.arguments) != 3 or len(op.inputs) < 2:
            raise CannotRaise(f"[raise_c2] '{UPDATE_CACHE}' takes values, a cache and a place")
        values, cache = (self.value(register) for register in op.inputs[:2])
        place = op.arguments[2]
        start = self.read(place) if isinstance(place, SSAValue) else place
        count = self._sizes(values)[1] if tensor_type(values).get_num_dims() > 1 else 1
        end = start + count if isinstance(start, int) and isinstance(count, int) else None
        if end is None:
            made = ComputeOp("add", [self.operand(start), self.operand(count)])
            self.insert(made)
            end = made.result
        self._write(op.inputs[1], self._edge("slice_scatter", cache, values, 1, start, end))

    def _size(self, op: KernelCallOp) -> None:
        """The size of a tensor: a number, where it is known."""
        if not op.inputs or not is_tensor(op.inputs[0].type) or len(op.arguments) < 2 or not op.returned:
            raise CannotRaise(f"[raise_c2] '{SYM_SIZE}' takes a tensor and a dimension")
        tensor, dim = self.value(op.inputs[0]), op.arguments[1]
        type = tensor_type(tensor)
        if not isinstance(dim, int) or not -type.get_num_dims() <= dim < type.get_num_dims():
            raise CannotRaise(f"[raise_c2] {type} has no dimension {dim}")
        size = type.get_shape()[dim]
        if size >= 0:
            self.contents.scalars[op.returned[0]] = size
        else:
            self.define(op.returned[0], self._edge("sym_size.int", tensor, dim))

    def _truncated(self, op: KernelCallOp, *, is_quotient: bool) -> None:
        """A quotient of integers that is rounded towards zero, or the remainder, by those that are rounded down."""
        known = [self.read(value) if isinstance(value, SSAValue) else value for value in op.arguments]
        if len(known) != 2 or not op.returned:
            raise CannotRaise(f"[raise_c2] '{op.key}' takes two integers")
        if all(type(value) is int for value in known):
            a, b = cast("list[int]", known)
            if b == 0:
                raise CannotRaise("[raise_c2] a division by zero")
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            self.contents.scalars[op.returned[0]] = quotient if is_quotient else a - quotient * b
            return
        a, b = (self.operand(value) for value in known)
        if a.type != i64 or b.type != i64:
            raise CannotRaise(f"[raise_c2] '{op.key}' takes two integers")
        quotient = self._compute("floordiv", a, b)
        rest = self._compute("sub", a, self._compute("mul", quotient, b))
        if not (is_never_negative(a) and is_never_negative(b)):
            # Rounded down, the remainder has the sign of the divisor, and here that of the dividend.
            zero = self.operand(0)
            less, more = self._compute("lt", rest, zero), self._compute("gt", rest, zero)
            differs = self._compute("ite", self._compute("lt", a, zero), more, less)
            quotient = self._compute(
                "ite", differs, self._compute("add", quotient, self.operand(1)), quotient
            )
            rest = self._compute("ite", differs, self._compute("sub", rest, b), rest)
        self.define(op.returned[0], quotient if is_quotient else rest)

    def _compute(self, function: str, *operands: SSAValue) -> SSAValue:
        made = ComputeOp(function, operands)
        self.insert(made)
        return made.result

    def _primitive(self, op: KernelCallOp, function: str) -> None:
        known = [self.read(value) if isinstance(value, SSAValue) else value for value in op.arguments]
        if not any(isinstance(value, SSAValue) for value in known):
            try:
                self.contents.scalars[op.returned[0]] = FUNCTIONS[function].apply(*known)
            except (ArithmeticError, TypeError, ValueError) as error:
                raise CannotRaise(f"[raise_c2] {error}") from error
            return
        made = ComputeOp(function, [self.operand(value) for value in known])
        self.insert(made)
        self.define(op.returned[0], made.result)

    def _copy(self, op: KernelCallOp) -> None:
        """A copy into a register: the value of its second argument, in the shape and type of the first."""
        target, source = op.inputs[0], self.value(op.inputs[1])
        wanted = cast(Tensor, target.type)
        if self.sizes is None or _is_exact(target):
            value = self._converted(source, wanted)
        elif op.inputs[1].type == wanted:
            shape = self.contents.shapes.get(target)
            value = source
            if isinstance(shape, SSAValue) and not has_equal_sizes(shape.type, source.type):
                value = self._edge("expand_copy", source, self._sizes(shape))
        else:
            raise CannotRaise(
                f"[raise_c4] a copy to %{target.name_hint} of another type, with sizes known at run time only"
            )
        self._write(target, value)
        for returned in op.returned:
            if returned is not target:
                self._write(returned, value)

    def _converted(self, value: SSAValue, wanted: Tensor) -> SSAValue:
        """A tensor in another element type, shape it broadcasts to, or layout."""
        type = cast("TensorType[Attribute]", value.type)
        if type.get_shape() != wanted.get_shape():
            value = self._edge("expand_copy", value, list(wanted.get_shape()))
            type = cast("TensorType[Attribute]", value.type)
        if type == wanted:
            return value
        return self._edge(
            "dim_order_ops._to_dim_order_copy",
            value,
            dtype=wanted.element_type,
            dim_order=list(dim_order(wanted)),
        )

    def _edge(self, name: str, *args: Any, **kwargs: Any) -> SSAValue:
        op = build(OP_BY_NAME[name], *args, **kwargs)
        self.insert(op)
        return op.result

    def _operator(self, op: KernelCallOp) -> None:
        made = functional_op(op.key, self.custom)
        in_place = is_in_place(op.key)
        targets = [op.inputs[0]] if in_place else [*op.outs, *op.returned]
        types = [target.type for target in targets]
        arguments = functional_arguments(op, made, self._argument, types)
        raised = self._made(op, made, arguments, types)
        if self.sizes is None and any(layout_problems(raised)):
            self._contiguous(raised, targets)
            return
        verify(raised)
        self.insert(raised)
        for target, result in zip(targets, raised.results, strict=True):
            self.define(target, result)
        for returned in op.returned if in_place else ():
            if returned is not targets[0]:
                self.define(returned, raised.results[0])

    def _made(
        self, op: KernelCallOp, made: type[EdgeOp], arguments: dict[str, Any], types: list[Attribute]
    ) -> EdgeOp:
        """The op of a call, with the types of its registers, or inferred ones where sizes are not exact."""
        targets = [op.inputs[0]] if is_in_place(op.key) else [*op.outs, *op.returned]
        is_untold = made.operator.shape_rule is None and all(map(_is_exact, targets))
        if self.sizes is None or is_untold:
            return build(made, **arguments, result_types=types, location=op.location)
        if made.operator.shape_rule is None:
            raise CannotRaise(
                f"[raise_c4] nothing tells the sizes of results of '{op.key}', which are known at run time only",
                "compile the program from its source",
            )
        raised = build(made, **arguments, location=op.location)
        if len(targets) != len(raised.results):
            raise CannotRaise(f"[raise_c2] {len(targets)} results of '{op.key}', not {len(raised.results)}")
        for target, result in zip(targets, raised.results, strict=True):
            self._check(target, result.type)
        return raised

    def _contiguous(self, op: EdgeOp, targets: Sequence[SSAValue]) -> None:
        """Add an op that computes on tensors in another layout as one on contiguous tensors."""
        for index, operand in enumerate(op.operands):
            if is_tensor(operand.type) and not is_contiguous(operand.type):
                op.operands[index] = self._in_order(operand, contiguous(operand.type.get_num_dims()))
        plain = [
            with_dim_order(t, contiguous(t.get_num_dims())) if is_tensor(t) else t for t in op.result_types
        ]
        made = type(op).create(operands=op.operands, result_types=plain, properties=op.properties)
        op.drop_all_references()
        verify(made)
        self.insert(made)
        for target, result in zip(targets, made.results, strict=True):
            wanted = target.type
            self.define(target, self._in_order(result, dim_order(wanted)) if is_tensor(wanted) else result)

    def _in_order(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        if dim_order_of(cast("TensorType[Attribute]", value.type)) == tuple(order):
            return value
        return self._edge("dim_order_ops._clone_dim_order", value, False, list(order))

    def _check(self, target: SSAValue, type: Attribute) -> None:
        """Report a result of a type that its register does not hold."""
        wanted = target.type
        if not is_tensor(wanted) or not is_tensor(type):
            return
        register = target.owner
        is_exact = isinstance(register, TensorRegisterOp | InputOp) and "dynamism" not in register.properties
        bounds, sizes = wanted.get_shape(), type.get_shape()
        fits = len(bounds) == len(sizes) and (not is_exact or bounds == sizes)
        if not fits or wanted.element_type != type.element_type:
            raise CannotRaise(f"[raise_c4] a result of type {type} is written to a register of {wanted}")

    def _argument(self, register: SSAValue) -> Any:
        return self.value(register) if is_tensor(register.type) else self.read(register)


def _check_elements(type: Attribute) -> None:
    """Raise `CannotRaise` for a tensor of elements that files can have and the edge level lacks."""
    if is_tensor(type) and not is_element_type(type.element_type):
        raise CannotRaise(f"[raise_c1] the edge level has no tensors of {type.element_type}")


def _is_exact(register: SSAValue) -> bool:
    return "dynamism" not in cast(Operation, register.owner).properties


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, SSAValue) or isinstance(other, SSAValue):
        return one is other
    return type(one) is type(other) and one == other


def _own_name(register: RegisterOp) -> str | None:
    """The name of a register, where it is not just its number."""
    name = register.result.name_hint
    return None if name is None or _is_numbered(name) else name


def _is_numbered(name: str) -> bool:
    """Whether a name is the number of a register, which the file does not tell."""
    return name[:1] == _NUMBERED and name[1:].isdigit()
