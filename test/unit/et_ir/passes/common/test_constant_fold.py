"""Folded constants are torch's results to the bit; folding is lazy, shares, and never makes a program grow."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter, tensor_of
from support.modules import NAMES, call, parse, run, with_constants
from xdsl.dialects.builtin import ModuleOp

from et_ir.data.blob import KEEP, Blob
from et_ir.dialects.program import ConstantOp, GlobalOp, ParameterOp
from et_ir.dialects.schema import SchemaOp
from et_ir.evaluation import numpy_kernels
from et_ir.evaluation.cost import Cost
from et_ir.evaluation.expression import ConstantExpression
from et_ir.passes.common.constant_fold import Budget, ConstantFoldPass

ops: Any = torch.ops.aten

INFINITY = float("inf")

X = torch.tensor([[1.5, -2.25, 3.0], [0.1, 1e-3, -7.75]])
N = torch.tensor([[3, -4, 5], [0, 7, -1]])
B = torch.tensor([[True, False, True], [False, False, True]])
INDEX = torch.tensor([1, 0])
NUMBERS = [X, X.half(), X.bfloat16(), X.double(), N, N.int(), N.to(torch.int8), B]

HALF = (torch.float16, torch.bfloat16)

# Operator, arguments with the tensor first in each; run for tensors of every type in NUMBERS that torch takes.
MOVEMENT: list[tuple[str, tuple[Any, ...]]] = [
    ("view", ((3, 2),)),
    ("unsqueeze", (1,)),
    ("permute", ((1, 0),)),
    ("permute", ((-1, -2),)),
    ("transpose.int", (0, -1)),
    ("t", ()),
    ("expand", ((4, 2, 3),)),
    ("expand", ((4, -1, -1),)),
    ("slice.Tensor", (1, 1, 9223372036854775807, 1)),
    ("slice.Tensor", (-1, -3, -1, 2)),
    ("select.int", (-1, -2)),
    ("narrow", (1, 1, 2)),
    ("split.Tensor", (2, 1)),
    ("split_with_sizes", ((1, 2), 1)),
    ("unbind.int", (1,)),
    ("flip", ((0, 1),)),
    ("repeat", ((2, 1, 2),)),
    ("diagonal", (1, 0, 1)),
    ("tril", (0,)),
    ("triu", (1,)),
    ("index_select", (1, INDEX)),
    ("gather", (1, torch.tensor([[2], [0]]))),
    ("clone", ()),
    ("alias", ()),
    ("full_like", (2,)),
    ("zeros_like", ()),
    ("ones_like", ()),
]
UNARY = [
    "abs", "bitwise_not", "ceil", "floor", "isinf", "isnan", "logical_not", "neg", "reciprocal", "rsqrt", "sqrt",
    "trunc",
]  # fmt: skip
BINARY = [
    "add.Tensor", "sub.Tensor", "rsub.Tensor", "mul.Tensor", "div.Tensor", "eq.Tensor", "ne.Tensor", "lt.Tensor",
    "le.Tensor", "gt.Tensor", "ge.Tensor", "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor",
    "logical_and", "logical_or", "logical_xor",
]  # fmt: skip


def operator(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(ops, packet), overload or "default")


def constants(module: ModuleOp) -> dict[str, torch.Tensor]:
    return {op.key: tensor_of(op.type, op.value) for op in module.walk() if isinstance(op, GlobalOp)}


def check(name: str, args: list[Any], *, torch_too: bool = False, **literals: Any) -> None:
    """Fold a call on constants and compare bits."""
    try:
        expected = operator(name)(*args, **literals)
    except (RuntimeError, NotImplementedError, TypeError):
        return  # torch takes no such operands either
    module, inputs = call(name, args, expected, **literals)
    run(with_constants(module, inputs), "constant-fold" + ("" if torch_too else "{torch=false}"))
    assert not any(isinstance(op, SchemaOp) for op in module.walk()), f"{name} was not folded"
    found = Interpreter(module).run()
    for f, e in zip(found, expected if isinstance(expected, list | tuple) else [expected], strict=True):
        assert f.dtype == e.dtype
        assert f.shape == e.shape
        torch.testing.assert_close(f, e, rtol=0, atol=0, equal_nan=True)
        if f.dtype.is_floating_point:
            assert torch.equal(torch.signbit(f) | f.isnan(), torch.signbit(e) | e.isnan())


@pytest.mark.parametrize(
    ("name", "rest"), MOVEMENT, ids=lambda value: value if isinstance(value, str) else ""
)
def test_movement(name: str, rest: tuple[Any, ...]) -> None:
    for tensor in NUMBERS:
        check(name, [tensor, *rest])


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    for tensor in NUMBERS:
        check(name, [tensor], torch_too=name == "rsqrt" and tensor.dtype in HALF)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    for tensor in NUMBERS:
        check(name, [tensor, tensor.flip(0)])
        check(name, [tensor, tensor[0]])
        check(name, [tensor, X[0]])
        check(name, [N, tensor])
        check(name, [257 + N, tensor])
        check(name, [tensor, torch.tensor(0.1)], torch_too=tensor.dtype in HALF)
        check(name, [tensor, 3], torch_too=tensor.dtype in HALF)
        check(name, [tensor, 0.3], torch_too=tensor.dtype in HALF)


@pytest.mark.parametrize("name", ["maximum", "minimum", "clamp.Tensor", "clamp_max.Tensor", "fmax", "fmin"])
def test_larger_and_smaller(name: str) -> None:
    """Of two zeros, of which torch takes one for few elements and another for many, and of numbers of every type."""
    for dtype in (torch.float32, torch.float64, *HALF):
        for shape in ((), (1,), (3,), (8,), (49,), (64,), (2, 33)):
            zeros = torch.zeros(shape, dtype=dtype)
            check(name, [zeros, -zeros], torch_too=True)
            check(name, [-zeros, zeros], torch_too=True)
    for tensor in NUMBERS:
        for other in (tensor.flip(0), tensor[0], X[0], N, torch.tensor(0.1)):
            check(name, [tensor, other], torch_too=True)


@pytest.mark.parametrize("name", [*UNARY, *BINARY, "clone", "select.int", "where.self", "add.Scalar"])
def test_results_of_rank_0(name: str) -> None:
    """Numpy gives scalars for them, not arrays."""
    for tensor in NUMBERS:
        one = tensor[0, 1]
        half = tensor.dtype in HALF
        if name == "select.int":
            check(name, [tensor[0], 0, 1])
        elif name == "where.self":
            check(name, [B[0, 1], one, tensor[0, 0]], torch_too=True)
        elif name in BINARY:
            check(name, [one, tensor[1, 0]], torch_too=True)
            check(name, [one, 3], torch_too=half)
        else:
            check(name, [one, 3] if name == "add.Scalar" else [one], torch_too=half)


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", ["eq.Scalar", "le.Scalar", "gt.Scalar", "add.Scalar", "mul.Scalar"])
def test_numbers_that_16_bits_do_not_hold(name: str, dtype: torch.dtype) -> None:
    tensor = torch.tensor([0.1, 256.0, 3.0, torch.inf]).to(dtype)
    for number in (0.1, 257, 3e38):
        check(name, [tensor, number], torch_too=True)


REFUSED: list[tuple[str, list[Any]]] = [
    ("sub.Tensor", [B, B]),
    ("sub.Tensor", [N, B]),
    ("rsub.Tensor", [B, N]),
    *((name, [B]) for name in ("abs", "ceil", "floor", "trunc", "round")),
    ("gather", [X, 1, torch.tensor([[0], [-1]])]),
    ("masked_fill.Scalar", [N.to(torch.int8), B, 300]),
    ("masked_fill.Tensor", [N.to(torch.int8), B, torch.tensor(300)]),
]


@pytest.mark.parametrize(("name", "args"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_torch_refuses_stays(name: str, args: list[Any]) -> None:
    with pytest.raises(RuntimeError):
        operator(name)(*args)
    result = args[0] if name != "gather" else X[:, :1]
    dtype = torch.promote_types(args[0].dtype, args[1].dtype) if "sub" in name else args[0].dtype
    module, inputs = call(name, args, result.to(dtype))
    run(with_constants(module, inputs), "constant-fold")
    assert any(isinstance(op, SchemaOp) for op in module.walk())


def test_operands_computed_in_a_type_that_numpy_lacks() -> None:
    """Of 16-bit floats and complex numbers of rank 0."""
    args = [X.half(), torch.tensor(complex(INFINITY, 1.0))]
    module, inputs = call("eq.Tensor", args, B)
    run(with_constants(module, inputs), "constant-fold")
    assert any(isinstance(op, SchemaOp) for op in module.walk())


COMPLEX = torch.tensor(
    [complex(a, b) for a in (INFINITY, -0.0, 0.5) for b in (-INFINITY, 0.0, -2.0, torch.nan)]
)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("name", [*UNARY, *BINARY, "square", "rsub.Scalar", "add.Scalar"])
def test_complex_numbers_that_are_not_finite(name: str, dtype: torch.dtype) -> None:
    numbers = COMPLEX.to(dtype)
    if name in ("square", *UNARY):
        check(name, [numbers], torch_too=True)
    elif name.endswith("Scalar"):
        check(name, [numbers, 2.0], torch_too=True)
    else:
        for other in (numbers, INFINITY * X.flatten()[:2], N.flatten()[:2], numbers[0]):
            check(name, [numbers[:, None], other], torch_too=True)
            check(name, [other, numbers[:, None]], torch_too=True)


def test_scaled_sums() -> None:
    for tensor in (X, X.half(), N):
        check("add.Tensor", [tensor, tensor], alpha=3, torch_too=tensor.dtype in HALF)
        check("sub.Tensor", [tensor, tensor], alpha=-2, torch_too=tensor.dtype in HALF)
        check("add.Scalar", [tensor, 3, 2], torch_too=tensor.dtype in HALF)
        check("rsub.Scalar", [tensor, 3, 2], torch_too=tensor.dtype in HALF)


def test_selection_by_masks() -> None:
    for tensor in NUMBERS:
        check("where.self", [B, tensor, X])
        check("where.self", [B, tensor, 2.5], torch_too=tensor.dtype in HALF)
        check("masked_fill.Scalar", [tensor, B, 2])
        check("masked_fill.Tensor", [tensor, B, torch.tensor(2, dtype=tensor.dtype)])


@pytest.mark.parametrize("dtype", [*HALF, torch.float32, torch.float64, torch.int32, torch.bool])
def test_conversion(dtype: torch.dtype) -> None:
    for tensor in NUMBERS:
        expected = tensor.to(dtype)
        module, inputs = call("_to_copy", [tensor], expected, dtype=NAMES[dtype])
        run(with_constants(module, inputs), "constant-fold{torch=false}")
        (found,) = Interpreter(module).run()
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_creation_and_lists() -> None:
    check("arange", [5])
    check("arange.start_step", [2, 11, 3])
    check("full", [[2, 3], 1.5])
    check("zeros", [[2]])
    check("scalar_tensor", [2.5])
    check("cat", [[X, X, torch.empty(0)], 1])
    check("cat", [[N, X], 0])
    check("stack", [[X, X.double()], -1])
    check("embedding", [X, torch.tensor([[1, 0], [0, 0]])])


def test_torch_evaluates_what_numpy_does_not() -> None:
    check("exp", [X], torch_too=True)
    check("sum.dim_IntList", [X, [1], True], torch_too=True)
    check("arange.start_step", [0.0, 1.0, 0.1], torch_too=True)
    check("max.dim", [N, 1], torch_too=True)


def test_every_numpy_kernel_has_a_case() -> None:
    """The names above, those of schema forms that share a kernel, and dim-order ops, which lit tests cover."""
    covered = {name for name, _ in MOVEMENT} | set(UNARY) | set(BINARY)
    covered |= {
        "cat",
        "stack",
        "embedding",
        "full",
        "zeros",
        "scalar_tensor",
        "where.self",
        "masked_fill.Scalar",
    }
    covered |= {"masked_fill.Tensor", "_to_copy", "add.Scalar", "rsub.Scalar"}
    kernels = numpy_kernels.KERNELS
    functions = {kernels[name] for name in covered if name in kernels}
    same_form = {n for n in kernels if n.endswith(".Scalar") and n.replace(".Scalar", ".Tensor") in covered}
    rest = {n for n, k in kernels.items() if k not in functions} - same_form
    operators = {
        f"__{name}__.{overload}" for name in ("and", "or", "xor") for overload in ("Tensor", "Scalar")
    }
    assert rest == operators | {"copy", "square"}


# -- what is folded, and what it costs


def weights(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed))


def transposed_product(weight: torch.Tensor, *, embeds: bool = False) -> ModuleOp:
    """`x @ weight.T`, and perhaps an embedding that needs the weight as it is."""
    rows, columns = weight.shape
    use = f"%e = aten.embedding %w, %i : (tensor<{rows}x{columns}xf32>, tensor<2xi64>) -> tensor<2x{columns}xf32>"
    text = f"""
    program.parameter @w : tensor<{rows}x{columns}xf32> = #program.data<f32, {rows * columns}, "w", "{"0" * 64}">
    func.func @forward(%x: tensor<4x{columns}xf32>, %i: tensor<2xi64>) -> tensor<4x{rows}xf32> {{
      %w = program.get @w : tensor<{rows}x{columns}xf32>
      {use if embeds else ""}
      %t = aten.permute %w {{dims = [1, 0]}} : (tensor<{rows}x{columns}xf32>) -> tensor<{columns}x{rows}xf32>
      %y = aten.mm %x, %t : (tensor<4x{columns}xf32>, tensor<{columns}x{rows}xf32>) -> tensor<4x{rows}xf32>
      func.return %y : tensor<4x{rows}xf32>
    }}"""
    module = parse(text)
    for op in module.walk():
        if isinstance(op, ParameterOp):
            assert op.value is not None
            op.value.blob.resolve(memoryview(weight.numpy()).cast("B"))
    return module


def test_large_results_are_computed_when_asked_for_and_not_kept() -> None:
    weight = weights(200, 300)
    assert weight.numel() * 4 > KEEP
    module = run(transposed_product(weight), "constant-fold,dce")
    (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    assert constant.value is not None
    blob = constant.value.blob
    first, second = blob.view(), blob.view()
    assert first.obj is not second.obj
    assert bytes(first) == weight.t().contiguous().numpy().tobytes()
    # The weight itself is gone, so the program has not grown.
    assert not any(isinstance(op, ParameterOp) for op in module.walk())


def test_bytes_are_freed_without_a_collection() -> None:
    """Weights are computed one after the other while a file is written; in a cycle, all would be kept until then."""
    module = run(transposed_product(weights(200, 300)), "constant-fold,dce")
    (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    assert constant.value is not None
    blob = constant.value.blob
    blob.view()
    gc.disable()
    try:
        while gc.collect():  # what other tests left, and what its finalizers leave
            pass
        blob.view()
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("shape", [(200, 300), (300, 64), (65, 300), (129, 127)])
def test_transposed_bytes_are_torch_s(shape: tuple[int, int]) -> None:
    weight = weights(*shape)
    module = run(transposed_product(weight), "constant-fold,dce")
    (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    assert constant.value is not None
    assert bytes(constant.value.blob.view()) == weight.t().contiguous().numpy().tobytes()


def test_transposed_weights_are_told_apart_without_computing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def blob(weight: torch.Tensor) -> Blob:
        module = run(transposed_product(weight), "constant-fold,dce")
        (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
        assert constant.value is not None
        return constant.value.blob

    weight = weights(200, 300)
    one, same, other = blob(weight), blob(weight.clone()), blob(weight + 1)
    monkeypatch.setattr(Blob, "view", None)
    assert one == same
    assert one != other


def test_a_weight_needed_as_it_is_is_not_doubled() -> None:
    module = run(transposed_product(weights(200, 300), embeds=True), "constant-fold")
    assert any(op.name == "aten.permute" for op in module.walk())


def test_small_weights_may_be_doubled() -> None:
    module = run(transposed_product(weights(20, 30), embeds=True), "constant-fold")
    assert not any(op.name == "aten.permute" for op in module.walk())


def test_two_large_results_of_one_weight_do_not_both_fit() -> None:
    rows, columns = 200, 300
    module = transposed_product(weights(rows, columns))
    wide, product = f"tensor<{columns}x{rows}xf32>", f"tensor<4x{rows}xf32>"
    second = (
        f"%n = aten.neg %t : {wide}\n    %z = aten.mm %x, %n : (tensor<4x{columns}xf32>, {wide}) -> {product}"
    )
    sum_ = f"%s = aten.add.Tensor %y, %z : {product}"
    text = str(module).replace("func.return %y : ", f"{second}\n{sum_}\nfunc.return %s : ")
    module = parse(text)
    for op in module.walk():
        if isinstance(op, ParameterOp):
            assert op.value is not None
            op.value.blob.resolve(memoryview(weights(rows, columns).numpy()).cast("B"))
    run(module, "constant-fold,dce")
    before = rows * columns * 4
    after = sum(
        op.value.blob.nbytes for op in module.walk() if isinstance(op, GlobalOp) and op.value is not None
    )
    assert after == before
    # The transpose took the place of the weight, and what is computed from both stays.
    assert [op.name for op in module.walk() if isinstance(op, SchemaOp)] == [
        "aten.mm",
        "aten.neg",
        "aten.mm",
        "aten.add.Tensor",
    ]


def test_chains_of_any_length_fold_without_recursion() -> None:
    lines = [f"%{i + 1} = aten.neg %{i} : tensor<2xf32>" for i in range(5000)]
    text = "\n".join(lines)
    module = parse(f"""
    program.constant @c : tensor<2xf32> = #program.data<f32, [1.0, -2.0]>
    func.func @forward() -> tensor<2xf32> {{
      %0 = program.get @c : tensor<2xf32>
      {text}
      func.return %5000 : tensor<2xf32>
    }}""")
    run(module, "constant-fold,dce")
    (value,) = constants(module).values()
    assert value.tolist() == [1.0, -2.0]


def test_an_op_that_torch_refuses_is_left_to_the_run() -> None:
    module = parse("""
    program.constant @c : tensor<2xi64> = #program.data<i64, [1, 2]>
    program.constant @w : tensor<1x2xf32> = #program.data<f32, [1.0, 2.0]>
    func.func @forward() -> tensor<2x2xf32> {
      %c = program.get @c : tensor<2xi64>
      %w = program.get @w : tensor<1x2xf32>
      %0 = aten.embedding %w, %c : (tensor<1x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
      func.return %0 : tensor<2x2xf32>
    }""")
    before = str(module)
    assert str(run(module, "constant-fold")) == before


def test_no_torch_is_imported_for_movement_and_arithmetic() -> None:
    script = """
import sys
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from et_ir.dialects.aten import Aten
from et_ir.dialects.program import Program
from et_ir.evaluation.cost import Cost
from et_ir.evaluation.expression import ConstantExpression
from et_ir.passes.common.constant_fold import Budget, ConstantFoldPass
from et_ir.text import parse_module
ctx = Context()
for dialect in (Builtin, Func, Aten, Program):
    ctx.load_dialect(dialect)
module = parse_module(ctx, '''
program.constant @c : tensor<2x1xf32> = #program.data<f32, [1.0, 2.0]>
func.func @forward() -> tensor<1x2xf32> {
  %0 = program.get @c : tensor<2x1xf32>
  %1 = aten.permute %0 {dims = [1, 0]} : (tensor<2x1xf32>) -> tensor<1x2xf32>
  %2 = aten.mul.Scalar %1 {other = 2.0} : tensor<1x2xf32>
  func.return %2 : tensor<1x2xf32>
}''')
ConstantFoldPass().apply(ctx, module)
assert "[2.0, 4.0]" in str(module), str(module)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_limit_is_an_option() -> None:
    assert ConstantFoldPass().limit == KEEP
    module = run(transposed_product(weights(20, 30), embeds=True), "constant-fold{limit=100}")
    assert any(op.name == "aten.permute" for op in module.walk())


class TestBudget:
    """What is computed of a few constants takes memory and time in proportion to them, or stays."""

    @staticmethod
    def left(text: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The names of the ops that stay, none of whose values is computed."""

        def refuse(self: ConstantExpression, done: Any) -> Any:
            raise AssertionError(f"{self.call.op.name} is evaluated")

        monkeypatch.setattr(ConstantExpression, "_apply", refuse)
        module = run(parse(text), "constant-fold")
        return [op.name for op in module.walk() if isinstance(op, SchemaOp)]

    @pytest.mark.parametrize(
        ("body", "names"),
        [
            (
                "%b = aten.expand %a {size = [30000000000], implicit = false} : "
                "(tensor<1xf32>) -> tensor<30000000000xf32>\n"
                "%r = aten.sum.dim_IntList %b {dim = [0], keepdim = false} : (tensor<30000000000xf32>) -> tensor<f32>",
                ["aten.expand", "aten.sum.dim_IntList"],
            ),
            (
                "%b = aten.expand %a {size = [4096, 1], implicit = false} : (tensor<1xf32>) -> tensor<4096x1xf32>\n"
                "%c = aten.expand %a {size = [1, 4096], implicit = false} : (tensor<1xf32>) -> tensor<1x4096xf32>\n"
                "%d = aten.mul.Tensor %b, %c : (tensor<4096x1xf32>, tensor<1x4096xf32>) -> tensor<4096x4096xf32>\n"
                "%r = aten.sum %d : (tensor<4096x4096xf32>) -> tensor<f32>",
                ["aten.mul.Tensor", "aten.sum"],
            ),
            (
                "%b = aten.expand %a {size = [1600, 1600], implicit = false} : "
                "(tensor<1xf32>) -> tensor<1600x1600xf32>\n"
                "%d = aten.mm %b, %b : (tensor<1600x1600xf32>, tensor<1600x1600xf32>) -> tensor<1600x1600xf32>\n"
                "%r = aten.sum %d : (tensor<1600x1600xf32>) -> tensor<f32>",
                ["aten.mm", "aten.sum"],
            ),
        ],
        ids=["elements", "an outer product", "multiply-adds"],
    )
    def test_costs_from_few_bytes(self, body: str, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        left = self.left(
            "program.constant @a : tensor<1xf32> = #program.data<f32, [1.0]>\n"
            "func.func @forward() -> tensor<f32> {\n"
            f"%a = program.get @a : tensor<1xf32>\n{body}\n"
            "func.return %r : tensor<f32>\n}",
            monkeypatch,
        )
        assert set(left) >= set(names)

    def test_shared_operands(self) -> None:
        """A value that is used twice counts once: else, a chain of these would double at each step."""
        rows = "\n".join(f"%{n + 1} = aten.add.Tensor %{n}, %{n} : tensor<64xf32>" for n in range(200))
        module = parse(
            "program.constant @a : tensor<64xf32> = "
            f"#program.data<f32, [{', '.join(['0.0'] * 64)}]>\n"
            "func.func @forward() -> tensor<64xf32> {\n%0 = program.get @a : tensor<64xf32>\n"
            f"{rows}\nfunc.return %200 : tensor<64xf32>\n}}"
        )
        assert not [op for op in run(module, "constant-fold").walk() if isinstance(op, SchemaOp)]

    def test_in_proportion_to_constants(self) -> None:
        assert Budget(10**9).covers(Cost(10**10, 10**12))
        assert not Budget(10**3).covers(Cost(10**8, 10**6))
        assert not Budget(10**3).covers(Cost(10**6, 10**10))


def test_indices_that_torch_does_not_check() -> None:
    """The values of constants, as an attacker chooses them, are no addresses: the op stays."""
    pool = "{kernel_size = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false}"
    module = parse(
        "program.constant @g : tensor<1x1x1x1xf32> = #program.data<f32, [1.0]>\n"
        "program.constant @x : tensor<1x1x2x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>\n"
        "program.constant @i : tensor<1x1x1x1xi64> = #program.data<i64, [1099511627776]>\n"
        "func.func @forward() -> tensor<1x1x2x2xf32> {\n"
        "%g = program.get @g : tensor<1x1x1x1xf32>\n"
        "%x = program.get @x : tensor<1x1x2x2xf32>\n"
        "%i = program.get @i : tensor<1x1x1x1xi64>\n"
        f"%r = aten.max_pool2d_with_indices_backward %g, %x, %i {pool} : "
        "(tensor<1x1x1x1xf32>, tensor<1x1x2x2xf32>, tensor<1x1x1x1xi64>) -> tensor<1x1x2x2xf32>\n"
        "func.return %r : tensor<1x1x2x2xf32>\n}"
    )
    names = [op.name for op in run(module, "constant-fold").walk() if isinstance(op, SchemaOp)]
    assert names == ["aten.max_pool2d_with_indices_backward"]


@pytest.mark.parametrize("index", [7, -8])
def test_large_results_of_indices_out_of_range(index: int) -> None:
    """Found out before the op is folded: nobody asks for the bytes of a large result until the program is written."""
    count = KEEP // 4 + 1
    module = parse(
        "program.constant @x : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>\n"
        f"program.constant @i : tensor<1xi64> = #program.data<i64, [{index}]>\n"
        f"func.func @forward() -> tensor<{count}xf32> {{\n"
        "%x = program.get @x : tensor<4xf32>\n"
        "%i = program.get @i : tensor<1xi64>\n"
        f"%j = aten.expand %i {{size = [{count}], implicit = false}} : (tensor<1xi64>) -> tensor<{count}xi64>\n"
        f"%r = aten.gather %x, %j {{dim = 0, sparse_grad = false}} : (tensor<4xf32>, tensor<{count}xi64>) "
        f"-> tensor<{count}xf32>\n"
        f"func.return %r : tensor<{count}xf32>\n}}"
    )
    assert "aten.gather" in [op.name for op in run(module, "constant-fold{limit=1000000}").walk()]
