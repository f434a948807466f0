"""Ops defined by a schema: construction, access, syntax."""

from __future__ import annotations

import math
from io import StringIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import test as xdsl_test
from xdsl.dialects.builtin import Builtin, ModuleOp, StringAttr, TensorType, f32, f64, i1, i32, i64
from xdsl.dialects.func import Func
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from et_ir.dialects.aten import OP_BY_NAME, Aten
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema import DYNAMIC, SchemaOp
from et_ir.dialects.schema.literals import ELEMENT_TYPES, attribute_of, element_type_name, fits, literal_of
from et_ir.dialects.schema.syntax import format_float
from et_ops import Arg, ArgType


def values(*types: Attribute) -> list[SSAValue]:
    return list(xdsl_test.TestOp(result_types=types).results)


matrix = TensorType(f32, [2, 3])


def test_literals_are_accessed_as_python_values() -> None:
    (x,) = values(matrix)
    op = aten.SumDimIntListOp.make(x, [1], dtype="f64")
    assert op.arg("self") is x
    assert (op.dim, op.keepdim, op.dtype) == ((1,), False, f64)
    assert op.args() == {"self": x, "dim": (1,), "keepdim": False, "dtype": f64}
    assert op.result.type == TensorType(f64, [2])
    assert aten.SumDimIntListOp.make(x, None).dim is None
    with pytest.raises(AttributeError, match="no attribute or schema argument 'dims'"):
        _ = op.dims
    with pytest.raises(KeyError):
        op.arg("dims")


def test_symbols_are_in_the_order_of_the_schema() -> None:
    x, n, m = values(matrix, i64, i64)
    op = aten.SliceTensorOp.make(x, end=n, start=m, result_types=[matrix])
    assert op.symbols == (m, n)
    assert (op.start, op.end, op.step) == (m, n, 1)
    view = aten.ViewOp.make(x, (n, 2, m), result_types=[matrix])
    assert view.size == (n, 2, m)
    assert literal_of(view.properties["size"]) == (DYNAMIC, 2, DYNAMIC)


def test_tensors_may_be_absent_and_in_lists() -> None:
    x, b, i = values(matrix, TensorType(f32, [3]), TensorType(i64, [4]))
    norm = aten.LayerNormOp.make(x, (3,), bias=b)
    assert (norm.weight, norm.bias) == (None, b)
    assert norm.tensor_operands() == [x, None, b]
    index = aten.IndexTensorOp.make(x, (None, i))
    assert index.indices == (None, i)
    cat = aten.CatOp.make([x, x], 1)
    assert cat.tensors == (x, x)
    assert cat.result.type == TensorType(f32, [2, 6])


def test_results_of_operations_stand_for_values() -> None:
    (x,) = values(matrix)
    relu = aten.ReluOp.make(x)
    size = aten.SymSizeIntOp.make(relu, 0)
    view = aten.ViewOp.make(relu, (size, 3))
    assert view.symbols == (size.result,)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: aten.ReluOp.make(), "missing tensor argument 'self'"),
        (lambda x: aten.ReluOp.make(x, x), "takes 1 arguments, got 2"),
        (lambda x: aten.ReluOp.make(x, inplace=True), "has no argument 'inplace'"),
        (lambda x: aten.SoftmaxIntOp.make(x), "missing argument 'dim'"),
        (lambda x: aten.SoftmaxIntOp.make(x, 0.5), "argument 'dim': expected a literal of schema type int"),
        (lambda x: aten.PermuteOp.make(x, 0), "expected a list for schema type"),
        (lambda x: aten.ItemOp.make(aten.UnderscoreIndicesCopyOp.make(x)), "cannot be inferred"),
    ],
)
def test_make_refuses(build: Any, message: str) -> None:
    (x,) = values(matrix)
    with pytest.raises(TypeError, match=message):
        build(x)
    assert not list(x.uses)


def test_defaults_are_filled_in_and_not_printed() -> None:
    (x,) = values(matrix)
    op = aten.AddScalarOp.create(
        operands=[x], result_types=[matrix], properties={"other": attribute_of(2, ArgType("Scalar"))}
    )
    assert literal_of(op.properties["alpha"]) == 1
    assert "alpha" not in str(op)
    assert "alpha = 1.0" in str(aten.AddScalarOp.make(x, 2, 1.0))


# -- literals

floats = st.floats(allow_nan=False) | st.sampled_from([math.inf, -math.inf, 1e-45, 1e22, 5e-324])
integers = st.integers(-(2**63) + 1, 2**63 - 1)
LITERALS: dict[str, st.SearchStrategy[Any]] = {
    "int": integers,
    "SymInt": integers,
    "float": floats,
    "bool": st.booleans(),
    "Scalar": integers | floats | st.booleans(),
    "str": st.text(max_size=6),
    "ScalarType": st.sampled_from(list(ELEMENT_TYPES.values())),
    "Layout": st.just("strided"),
    "Device": st.sampled_from(["cpu", "cuda:0"]),
    "MemoryFormat": st.sampled_from(["contiguous_format", "channels_last"]),
}
LISTS = ("int", "SymInt", "float", "bool", "Scalar")
literal_types = st.builds(ArgType, st.sampled_from(list(LITERALS))) | st.builds(
    ArgType, st.sampled_from(LISTS), is_list=st.just(True)
)


@given(st.data(), literal_types)
def test_literals_survive_as_attributes(data: st.DataObject, type: ArgType) -> None:
    strategy = LITERALS[type.base]
    value = data.draw(st.lists(strategy, max_size=4).map(tuple) if type.is_list else strategy)
    attr = attribute_of(value, type)
    assert literal_of(attr) == value
    assert fits(attr, type)
    assert attribute_of(literal_of(attr), type) == attr


@given(st.data(), literal_types, literal_types)
def test_literals_fit_only_their_types(data: st.DataObject, type: ArgType, other: ArgType) -> None:
    strategy = LITERALS[type.base]
    attr = attribute_of(
        data.draw(st.lists(strategy, min_size=1, max_size=3) if type.is_list else strategy), type
    )
    try:
        same = attribute_of(literal_of(attr), other) == attr
    except TypeError:
        same = False
    assert fits(attr, other) == same


@given(floats)
def test_floats_are_printed_to_be_read_back(value: float) -> None:
    text = format_float(value)
    assert float(text) == value
    assert not text.lstrip("-").isdigit()


def test_element_types_have_names() -> None:
    assert {element_type_name(type) for type in ELEMENT_TYPES.values()} == set(ELEMENT_TYPES)
    with pytest.raises(KeyError):
        element_type_name(TensorType(f32, []))


# -- syntax


@st.composite
def operations(draw: st.DrawFn) -> SchemaOp:
    """An op of any class with any arguments: well formed, though not always one that torch would take."""
    cls = OP_BY_NAME[draw(st.sampled_from(sorted(OP_BY_NAME)))]
    arguments: dict[str, Any] = {}

    def tensor() -> SSAValue:
        element = draw(st.sampled_from([f32, i64, i1]))
        shape = draw(st.lists(st.sampled_from([1, 2, DYNAMIC]), max_size=3))
        return values(draw(st.sampled_from([TensorType(element, shape), f64])))[0]

    def literal(arg: Arg) -> Any:
        strategy = LITERALS[arg.type.base]
        if arg.type.may_be_symbolic:
            strategy |= st.just(None)
        if not arg.type.is_list:
            value = draw(strategy)
            return values(i64)[0] if value is None else value
        return [values(i64)[0] if item is None else item for item in draw(st.lists(strategy, max_size=3))]

    for arg in cls.schema().args:
        if arg.type.base == "Generator" or (arg.type.optional and draw(st.booleans())):
            continue
        if not arg.type.is_tensor:
            arguments[arg.name] = literal(arg)
        elif arg.type.is_list:
            holes = arg.type.element_optional
            count = draw(st.integers(0, 3))
            arguments[arg.name] = [None if holes and draw(st.booleans()) else tensor() for _ in range(count)]
        else:
            arguments[arg.name] = tensor()
    types: list[Attribute] = []
    for ret in cls.schema().returns:
        result = TensorType(f32, draw(st.lists(st.sampled_from([1, 2, DYNAMIC]), max_size=2)))
        types += [result] * (draw(st.integers(0, 3)) if ret.type.is_list else 1)
    op = cls.make(**arguments, result_types=types)
    if draw(st.booleans()):
        op.attributes["note"] = StringAttr("kept")
    return op


def printed(module: Operation, *, generic: bool) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic).print_op(module)
    return stream.getvalue()


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Aten, xdsl_test.Test):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


@settings(max_examples=60)
@given(operations())
def test_text_and_op_are_inverse(op: SchemaOp) -> None:
    sources = list(dict.fromkeys(operand.owner for operand in op.operands))
    module = ModuleOp([*sources, op])  # pyright: ignore[reportArgumentType]
    # xDSL's generic text turns strings that are not ASCII into bytes.
    ascii = all(str(attr).isascii() and "\\" not in str(attr) for attr in op.properties.values())
    for generic in (False, True) if ascii else (False,):
        text = printed(module, generic=generic)
        again = parsed(text)
        assert again.is_structurally_equivalent(module), text
        assert printed(again, generic=generic) == text


def test_generic_text_without_segments_is_refused() -> None:
    module = parsed('"builtin.module"() ({ %0 = "test.op"() : () -> tensor<2xf32>\n'
                    '%1 = "aten.cat"(%0) : (tensor<2xf32>) -> tensor<2xf32> }) : () -> ()')  # fmt: skip
    with pytest.raises(VerifyException, match=r"\[operand_c1\] needs the property 'operandSegmentSizes'"):
        module.verify()


@pytest.mark.parametrize("attr", [attribute_of(1, ArgType("int")), StringAttr("f32"), i32])
def test_property_of_the_wrong_kind_is_refused(attr: Attribute) -> None:
    (x,) = values(matrix)
    op = aten.GeluOp.make(x)
    op.properties["approximate"] = attr
    if isinstance(attr, StringAttr):
        op.verify_()
    else:
        with pytest.raises(
            VerifyException, match=r"\[property_c2\] 'approximate' is .* expected schema type str"
        ):
            op.verify_()


def test_irdl_definition_says_what_the_schema_says() -> None:
    definition = aten.LayerNormOp.get_irdl_definition()
    assert [name for name, _ in definition.operands] == ["input", "weight", "bias", "symbols"]
    assert set(definition.properties) >= {"normalized_shape", "eps", "cudnn_enable", "operandSegmentSizes"}
    assert [name for name, _ in definition.results] == ["result"]
    for cls in (aten.CatOp, aten.IndexTensorOp, aten.MaxDimOp, aten.SplitTensorOp):
        assert cls.get_irdl_definition().name == cls.name


def test_dialect_has_every_op_once() -> None:
    operations = list(Aten.operations)
    assert len(OP_BY_NAME) == len(operations) == len({op.name for op in operations})
    assert all(OP_BY_NAME[op.name.removeprefix("aten.")] is op for op in operations)
