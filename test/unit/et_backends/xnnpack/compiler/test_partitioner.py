import pytest
from support.modules import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_ir.backends import BackendError, make_partitioner
from et_ir.delegation.tags import tag_of
from et_ir.dialects.schema import SchemaOp


def method_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


PROGRAM = """
program.parameter @w : tensor<3x4xf32> = #program.data<f32, [1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.]>
program.parameter @i : tensor<3x4xi8> = #program.data<i8, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]>
program.parameter @u : tensor<3x4xui8> = #program.data<ui8, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]>
func.func @forward(%x: tensor<2x4xf32>, %v: tensor<3x4xf32>, %d: tensor<2x4xf64>) -> (RESULT) {
  %w = program.get @w : tensor<3x4xf32>
  BODY
  func.return %r : RESULT
}
"""


def refusals(body: str, result: str = "tensor<2x4xf32>", options: str = "") -> list[str]:
    method = method_of(parse(PROGRAM.replace("BODY", body).replace("RESULT", result)))
    partition = make_partitioner("xnnpack" + options).partition(method)
    for op in method.body.block.ops:
        assert not isinstance(op, SchemaOp) or (tag_of(op) is None) == (op in partition.refusals)
    return [str(refusal) for refusal in partition.refusals.values()]


SIGMOID = "%r = edge.sigmoid %x : tensor<2x4xf32>"
SLICE = "%r = edge.slice_copy.Tensor %x {dim = 1, step = 2} : (tensor<2x4xf32>) -> tensor<2x2xf32>"
POWER = "%r = edge.pow.Tensor_Scalar %x {exponent = 2.5} : (tensor<2x4xf32>) -> tensor<2x4xf32>"
MAXIMUM = "%m, %r = edge.max.dim %x {dim = 1} : (tensor<2x4xf32>) -> (tensor<2xf32>, tensor<2xi64>)"
RANGE = "scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8"
RESTORED = "edge.quantized_decomposed.dequantize_per_tensor"
QUANTIZED = f"""%i = program.get @i : tensor<3x4xi8>
  %q = {RESTORED} %i {{{RANGE}}} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %r = edge.linear %x, %q : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>"""
PERMUTED = "%r = edge.permute_copy %x {dims = [1, 0]} : (tensor<2x4xf32>) -> tensor<4x2xf32>"


def linear(weight: str) -> str:
    return f"%r = edge.linear %x, {weight} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>"


def test_taken():
    assert refusals(SIGMOID) == []
    assert refusals(linear("%w"), "tensor<2x3xf32>") == []


@pytest.mark.parametrize(
    ("op", "result"),
    [
        ("clone %s", "tensor<2x4xf32>"),
        ("dim_order_ops._clone_dim_order %s {dim_order = [0, 1]}", "tensor<2x4xf32>"),
        ("dim_order_ops._to_dim_order_copy %s {dtype = f16}", "tensor<2x4xf16>"),
        ("gelu %s", "tensor<2x4xf32>"),
        ("pow.Tensor_Scalar %s {exponent = 2.0}", "tensor<2x4xf32>"),
        ("abs %s", "tensor<2x4xf32>"),
    ],
)
def test_operators_of_one_tensor_that_are_taken(op: str, result: str):
    body = f"%s = edge.sigmoid %x : tensor<2x4xf32>\n  %r = edge.{op} : (tensor<2x4xf32>) -> {result}"
    assert refusals(body, result) == []


@pytest.mark.parametrize(
    ("stored", "numbers", "taken"),
    [
        ("%i", "scale = 0.5, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8", True),
        ("%i", "scale = 0.5, zero_point = 1, quant_min = -128, quant_max = 127, dtype = i8", False),
        ("%u", "scale = 0.5, zero_point = 128, quant_min = 0, quant_max = 255, dtype = ui8", False),
        ("%i", "scale = 1.0e-40, zero_point = 0, quant_min = -128, quant_max = 127, dtype = i8", False),
    ],
    ids=["symmetric", "a zero point", "unsigned", "too small a scale"],
)
def test_weights_of_layers_whose_rows_are_quantized(stored: str, numbers: str, taken: bool):
    """XNNPACK takes signed bytes without a zero point."""
    q, x, one = "edge.quantized_decomposed", "tensor<2x4xf32>", "tensor<1xf64>, tensor<1xi64>"
    limits = "quant_min = -128, quant_max = 127, dtype = i8"
    kind = "ui8" if stored == "%u" else "i8"
    body = f"""%i = program.get @i : tensor<3x4xi8>
  %u = program.get @u : tensor<3x4xui8>
  %s, %z = {q}.choose_qparams.tensor %x {{eps = 1.0e-05, {limits}}} : ({x}) -> ({one})
  %q = {q}.quantize_per_tensor.tensor %x, %s, %z {{{limits}}} : ({x}, {one}) -> tensor<2x4xi8>
  %y = {q}.dequantize_per_tensor.tensor %q, %s, %z {{{limits}}} : (tensor<2x4xi8>, {one}) -> {x}
  %k = {q}.dequantize_per_tensor {stored} {{{numbers}}} : (tensor<3x4x{kind}>) -> tensor<3x4xf32>
  %r = edge.linear %y, %k : ({x}, tensor<3x4xf32>) -> tensor<2x3xf32>"""
    assert (refusals(body, "tensor<2x3xf32>") == []) == taken


@pytest.mark.parametrize(
    ("body", "result", "reason"),
    [
        ("%r = edge.erf %x : tensor<2x4xf32>", "tensor<2x4xf32>", "XNNPACK has no such node: erf"),
        ("%r = edge.sigmoid %d : tensor<2x4xf64>", "tensor<2x4xf64>", "element type: f64, it takes f32, f16"),
        (linear("%v"), "tensor<2x3xf32>", "the weight is not a constant"),
        (
            QUANTIZED,
            "tensor<2x3xf32>",
            "restores weights of an op that is not delegated in integers; "
            "weights are quantized, and activations are not: compile with "
            "EdgeCompileConfig(dequantize_weights=True)",
        ),
        (SLICE, "tensor<2x2xf32>", "a step: 2"),
        (
            POWER,
            "tensor<2x4xf32>",
            "exponents are limited: 2.5, not one of (2.0, 3.0, 0.5, -0.5, -1.0)",
        ),
        (MAXIMUM, "tensor<2xi64>", "only its indices are used"),
        (PERMUTED, "tensor<4x2xf32>", "the partition computes nothing: it only moves elements"),
    ],
)
def test_left_out_with_the_reason(body: str, result: str, reason: str):
    assert "; ".join(refusals(body, result)) == reason


@pytest.mark.parametrize(
    "op", ["div.Scalar %x {other = %n}", "pow.Tensor_Scalar %x {exponent = %n}", "clamp %x {max = %n}"]
)
def test_numbers_known_at_run_time(op: str):
    body = f"""%n = edge.sym_size.int %x {{dim = 0}} : (tensor<2x4xf32>) -> i64
  %r = edge.{op} : (tensor<2x4xf32>, i64) -> tensor<2x4xf32>"""
    method = method_of(parse(PROGRAM.replace("BODY", body).replace("RESULT", "tensor<2x4xf32>")))
    found = make_partitioner("xnnpack").partition(method).refusals.values()
    assert [one.message for one in found] == ["a number is known at run time only"]


@pytest.mark.parametrize("other", ["scale = 0.25, zero_point = 0", "scale = 0.5, zero_point = 1"])
def test_integers_that_are_restored_otherwise(other: str):
    """A value of a graph has one scale and zero point: that of its quantization, or of an op that restores it."""
    quantized, x = "edge.quantized_decomposed.quantize_per_tensor", "tensor<2x4xf32>"
    limits = "quant_min = -128, quant_max = 127, dtype = i8"
    body = f"""%q = {quantized} %x {{{RANGE}}} : ({x}) -> tensor<2x4xi8>
  %s = {RESTORED} %q {{OTHER, {limits}}} : (tensor<2x4xi8>) -> {x}
  %r = edge.sigmoid %s : {x}"""
    reason = "restored with another scale or zero point than it is quantized with"
    assert reason in refusals(body.replace("OTHER", other))
    assert reason not in refusals(body.replace("OTHER", "scale = 0.5, zero_point = 0"))
    two = body.replace("OTHER", "scale = 0.5, zero_point = 0").replace(
        "%r = edge.sigmoid %s", f"""%t = {RESTORED} %q {{{other}, {limits}}} : (tensor<2x4xi8>) -> {x}
  %r = edge.add.Tensor %s, %t"""
    )  # fmt: skip
    assert refusals(two).count(reason) == 1


def test_what_the_user_leaves_out():
    assert refusals(SIGMOID, options=":without=sigmoid") == ["left out by the user: sigmoid"]
    assert refusals(SIGMOID, options=":only=relu") == ["left out by the user: sigmoid"]
    assert refusals(SIGMOID, options=":without=edge.sigmoid+add") == ["left out by the user: sigmoid"]
    assert refusals(SIGMOID, options=":min=2") == ["partition too small: 1 op, at least 2 required"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("colour=red", "unknown option 'colour'; options are: only, without, min"),
        ("min=few", "min=few: expected a number of ops"),
        ("without=sigmod", "unknown operator 'sigmod', did you mean 'sigmoid'"),
        ("only=relu+nothing", "unknown operator 'nothing'"),
    ],
)
def test_options_that_there_are_not(option: str, message: str):
    with pytest.raises(BackendError, match=message):
        make_partitioner(f"xnnpack:{option}")


NUMBERS = "quant_min = -128, quant_max = 127, dtype = i8"
X, CHOICE = "tensor<2x4xf32>", "tensor<1xf64>, tensor<1xi64>"
Q = "edge.quantized_decomposed"
CHOSEN = f"""%s, %z = {Q}.choose_qparams.tensor %x {{{NUMBERS}, eps = 1.0e-4}} : ({X}) -> ({CHOICE})
  %b = {Q}.quantize_per_tensor.tensor %x, %s, %z {{{NUMBERS}}} : ({X}, {CHOICE}) -> tensor<2x4xi8>
  %f = {Q}.dequantize_per_tensor.tensor %b, %s, %z {{{NUMBERS}}} : (tensor<2x4xi8>, {CHOICE}) -> {X}
  %i = program.get @i : tensor<3x4xi8>
  %q = {RESTORED} %i {{{RANGE}}} : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %r = edge.linear %f, %q : ({X}, tensor<3x4xf32>) -> tensor<2x3xf32>"""
ROWS = "tensor<2x3xf32>"
OTHER_READER = "\n  %o = edge.sigmoid OPERAND : OF\n  %u = edge.erf %o : OF"


def test_activations_quantized_while_they_run():
    assert refusals(CHOSEN, ROWS) == []
    # The layer is chosen, not what quantizes its activation.
    assert refusals(CHOSEN, ROWS, ":only=linear") == []
    assert len(refusals(CHOSEN, ROWS, ":without=linear")) == 5


@pytest.mark.parametrize(("value", "type"), [("%f", "tensor<2x4xf32>"), ("%q", "tensor<3x4xf32>")])
def test_what_other_ops_read_stays_floats(value: str, type: str):
    body = CHOSEN + OTHER_READER.replace("OPERAND", value).replace("OF", type)
    reason = "weights are quantized, and activations are not: compile with EdgeCompileConfig(dequantize_weights=True)"
    assert reason in refusals(body, ROWS)
