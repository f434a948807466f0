"""Decomposition by tracing: the result is Core ATen and computes what torch computes."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from support.programs import Calls
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from et_ir.dialects.aten import OP_BY_NAME
from et_ir.dialects.program import GlobalOp
from et_ir.dialects.schema import SchemaOp
from et_ir.frontend import decomposition, import_program
from et_ir.locations import module_path, source_line
from et_ir.passes.aten_to_core.decompose_traced import DecomposeTracedPass
from et_ir.passes.verify.verify_core_aten import VerifyCoreAtenPass
from et_ir.text import parse_module
from et_tools.reading import compiler_context


def r(*shape: int) -> Tensor:
    return torch.rand(*shape)


ids = torch.tensor([0, 2, 1])
COMPOSITES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "linear": (functional.linear, (r(2, 3), r(4, 3), r(4))),
    "matmul_broadcast": (torch.matmul, (r(2, 1, 3, 4), r(5, 4, 2))),
    "matmul_vectors": (torch.matmul, (r(4), r(4))),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bki", a, b), (r(2, 3, 4), r(2, 4, 5))),
    "bilinear": (functional.bilinear, (r(2, 3), r(2, 4), r(5, 3, 4), r(5))),
    "conv1d_same": (lambda x, w: functional.conv1d(x, w, padding="same"), (r(1, 2, 7), r(3, 2, 3))),
    "conv_transpose2d": (
        lambda x, w: functional.conv_transpose2d(x, w, stride=2),
        (r(1, 2, 4, 4), r(2, 3, 3, 3)),
    ),
    "group_norm": (lambda x: functional.group_norm(x, 2), (r(2, 4, 3),)),
    "instance_norm": (functional.instance_norm, (r(2, 3, 5),)),
    "rms_norm": (lambda x, w: functional.rms_norm(x, (4,), w, 1e-5), (r(3, 4), r(4))),
    "attention": (functional.scaled_dot_product_attention, (r(1, 2, 3, 4), r(1, 2, 5, 4), r(1, 2, 5, 4))),
    "attention_grouped": (
        lambda q, k: functional.scaled_dot_product_attention(q, k, k, is_causal=True, enable_gqa=True),
        (r(1, 4, 3, 4), r(1, 2, 3, 4)),
    ),
    "cross_entropy": (functional.cross_entropy, (r(3, 5), ids)),
    "huber_loss": (functional.huber_loss, (r(3), r(3))),
    "cosine_similarity": (functional.cosine_similarity, (r(2, 3), r(2, 3))),
    "normalize": (functional.normalize, (r(2, 3),)),
    "logit": (lambda x: torch.logit(x, 0.1), (r(5),)),
    "mish": (functional.mish, (r(5),)),
    "hardswish": (functional.hardswish, (r(5),)),
    "softplus": (functional.softplus, (r(5),)),
    "celu": (functional.celu, (r(5) - 0.5,)),
    "glu": (functional.glu, (r(2, 6),)),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), (r(3, 4),)),
    "std_mean": (lambda x: torch.std_mean(x, 1), (r(3, 4),)),
    "pixel_shuffle": (lambda x: functional.pixel_shuffle(x, 2), (r(1, 8, 3, 3),)),
    "pixel_unshuffle": (lambda x: functional.pixel_unshuffle(x, 2), (r(1, 2, 4, 4),)),
    "upsample_bicubic": (
        lambda x: functional.interpolate(x, scale_factor=2.0, mode="bicubic"),
        (r(1, 2, 3, 3),),
    ),
    "adaptive_pool": (lambda x: functional.adaptive_avg_pool2d(x, (2, 3)), (r(1, 2, 5, 7),)),
    "max_pool3d": (lambda x: functional.max_pool3d(x, 2), (r(1, 1, 4, 4, 4),)),
    "index_add": (lambda x, i, y: torch.index_add(x, 0, i, y), (r(4, 3), ids, r(3, 3))),
    "index_copy": (lambda x, i, y: torch.index_copy(x, 0, i, y), (r(4, 3), ids, r(3, 3))),
    "take_along": (lambda x, i: torch.take(x, i), (r(4, 3), ids)),
    "one_hot": (lambda i: functional.one_hot(i, 4), (ids,)),
    "tril": (torch.tril, (r(3, 3),)),
    "roll": (lambda x: torch.roll(x, (1, 2), (0, 1)), (r(3, 4),)),
    "unfold": (lambda x: x.unfold(0, 3, 2), (r(9),)),
    "im2col": (lambda x: functional.unfold(x, 2), (r(1, 2, 4, 4),)),
    "cumulative": (lambda x: torch.cumprod(x, 0), (r(4),)),
    "chunks": (lambda x: (torch.chunk(x, 3), torch.tensor_split(x, 2), torch.stack([x, x])), (r(6, 2),)),
    "lerp": (torch.lerp, (r(3), r(3), r(3))),
    "addcmul": (lambda a, b, c: torch.addcmul(a, b, c, value=0.5), (r(3), r(3), r(3))),
    "floor_divide": (lambda x: (torch.floor_divide(x, 0.3), x // 2, 2 / x), (r(5),)),
    "where_scalars": (lambda x: torch.where(x > 0.5, 1.0, 0.0), (r(5),)),
    "round": (lambda x: torch.round(x, decimals=1), (r(5),)),
    "hinge_loss": (functional.hinge_embedding_loss, (r(3), torch.tensor([1.0, -1.0, 1.0]))),
    "isclose": (lambda x, y: torch.isclose(x, y), (r(3), r(3))),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites(name: str):
    function, args = COMPOSITES[name]
    module = import_program(torch.export.export(Calls(function), args))
    assert any(isinstance(op, SchemaOp) and not op.operator.is_core for op in module.walk())
    DecomposeTracedPass().apply(Context(), module)
    module.verify()
    VerifyCoreAtenPass().apply(Context(), module)
    for got, want in zip(Interpreter(module).run(*args), tree_leaves(function(*args)), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", [nn.GRU, nn.LSTM, nn.RNN])
def test_recurrent_networks(cell: Any):
    net = cell(3, 4, bidirectional=True).eval()
    args = (r(2, 1, 3),)
    with warnings.catch_warnings():
        # Export complains about the list of weights that these modules keep.
        warnings.simplefilter("ignore", UserWarning)
        program = torch.export.export(net, args)
    module = import_program(program)
    DecomposeTracedPass().apply(Context(), module)
    VerifyCoreAtenPass().apply(Context(), module)
    for got, want in zip(Interpreter(module).run(*args), tree_leaves(net(*args)), strict=True):
        torch.testing.assert_close(got, want)


def calls(name: str, *types: Any, **literals: Any) -> tuple[ModuleOp, SchemaOp]:
    """A module with one op on the method's arguments."""
    from et_ir.frontend.types import tensor_type

    block = Block(arg_types=[tensor_type(t) for t in types])
    op = OP_BY_NAME[name].make(*block.args, **literals)
    block.add_ops([op, ReturnOp(*op.results)])
    function = FuncOp("forward", (block.arg_types, [r.type for r in op.results]), Region(block))
    return ModuleOp([function]), op


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if isinstance(op, SchemaOp)]


def test_core_ops_stay():
    module, op = calls("native_layer_norm", r(2, 3), r(3), r(3), normalized_shape=[3], eps=1e-5)
    DecomposeTracedPass().apply(Context(), module)
    assert names(module) == [op.name]


def test_preserved_ops_stay():
    module, _ = calls("linear", r(2, 3), r(4, 3))
    DecomposeTracedPass(preserve=("linear",)).apply(Context(), module)
    assert names(module) == ["aten.linear"]
    DecomposeTracedPass().apply(Context(), module)
    assert names(module) == ["aten.permute", "aten.mm"]


def test_preserved_ops_stay_inside_of_others():
    module = import_program(torch.export.export(Calls(functional.normalize), (r(2, 3),)))
    assert "aten.linalg_vector_norm" in names(module)
    module, _ = calls("cosine_similarity", r(2, 3), r(2, 3))
    DecomposeTracedPass(preserve=("linalg_vector_norm",)).apply(Context(), module)
    assert names(module).count("aten.linalg_vector_norm") == 2


def test_ops_that_nothing_decomposes_stay():
    block = Block(arg_types=[TensorType(f32, [3])])
    types = [TensorType(f32, [DYNAMIC_INDEX]), TensorType(i64, [3]), TensorType(i64, [0])]
    op = OP_BY_NAME["_unique2"].make(block.args[0], result_types=types)
    block.add_ops([op, ReturnOp(*op.results)])
    module = ModuleOp([FuncOp("forward", (block.arg_types, types), Region(block))])
    DecomposeTracedPass().apply(Context(), module)
    assert names(module) == ["aten._unique2"]


def test_leaves_stay_inside_of_others():
    module = import_program(torch.export.export(Calls(lambda x: torch.fft.fft2(x).abs()), (r(2, 3),)))
    DecomposeTracedPass().apply(Context(), module)
    assert names(module) == ["aten._to_copy", "aten._fft_c2c", "aten.abs"]
    VerifyCoreAtenPass().apply(Context(), module)


def test_leaves_that_torch_would_decompose_by_themselves_stay_inside_of_others():
    module = import_program(torch.export.export(Calls(lambda x: torch.mvlgamma(x + 3, 2)), (r(5),)))
    DecomposeTracedPass().apply(Context(), module)
    assert "aten.lgamma" in names(module)
    VerifyCoreAtenPass().apply(Context(), module)


@pytest.mark.parametrize(
    ("function", "leaves"),
    [
        (torch.linalg.inv, {"aten.linalg_inv_ex"}),
        (lambda x: torch.linalg.solve(x, x), {"aten._linalg_solve_ex"}),
        (torch.linalg.cholesky, {"aten.linalg_cholesky_ex"}),
        (torch.fft.ihfft2, {"aten._fft_c2c", "aten._conj_physical"}),
    ],
)
def test_checks_of_results_are_left_to_kernels(function: Callable[..., Any], leaves: set[str]):
    module = import_program(torch.export.export(Calls(function), (torch.eye(3) * 2,)))
    DecomposeTracedPass().apply(Context(), module)
    assert leaves <= set(names(module))
    VerifyCoreAtenPass().apply(Context(), module)


def test_halves_are_converted_without_writing():
    module = import_program(
        torch.export.export(Calls(lambda x: torch.renorm(x, 2.0, 0, 1.0)), (r(3, 4).half(),))
    )
    DecomposeTracedPass().apply(Context(), module)
    assert "aten._to_copy" in names(module)
    VerifyCoreAtenPass().apply(Context(), module)


def test_windows_that_torch_computes_in_place_are_constants():
    module = import_program(torch.export.export(Calls(lambda x: torch.kaiser_window(5) * x), (r(5),)))
    x = r(5)
    assert names(module) == ["aten.mul.Tensor"]
    assert torch.equal(Interpreter(module).run(x)[0], torch.kaiser_window(5) * x)


Dim = torch.export.Dim


def exported(
    function: Callable[..., Any], args: tuple[Tensor, ...], *dynamic: dict[int, Any] | None
) -> ModuleOp:
    return import_program(torch.export.export(Calls(function), args, dynamic_shapes=(dynamic,), strict=False))


def test_sizes_known_at_run_time_only_are_those_of_operands():
    module = exported(functional.softplus, (r(3),), {0: Dim("n")})
    DecomposeTracedPass().apply(Context(), module)
    VerifyCoreAtenPass().apply(Context(), module)
    for n in (2, 7):
        x = r(n)
        torch.testing.assert_close(Interpreter(module).run(x)[0], functional.softplus(x))


def test_sizes_that_operators_demand_to_be_the_same_are():
    """Types do not say which sizes are the same: torch refuses to trace while they differ."""
    batch = Dim("n")
    module = exported(functional.pairwise_distance, (r(3, 4), r(3, 4)), {0: batch}, {0: batch})
    DecomposeTracedPass().apply(Context(), module)
    VerifyCoreAtenPass().apply(Context(), module)
    x, y = r(5, 4), r(5, 4)
    torch.testing.assert_close(Interpreter(module).run(x, y)[0], functional.pairwise_distance(x, y))


def test_sizes_that_need_not_be_the_same_are_not():
    module = exported(lambda x, y: torch.cartesian_prod(x, y), (r(3), r(5)), {0: Dim("n")}, {0: Dim("m")})
    DecomposeTracedPass().apply(Context(), module)
    VerifyCoreAtenPass().apply(Context(), module)
    x, y = r(5), r(2)
    torch.testing.assert_close(Interpreter(module).run(x, y)[0], torch.cartesian_prod(x, y))


def test_what_is_right_for_some_sizes_only_is_not_taken():
    """Heights that are no multiple of the factor are refused, so a trace says nothing of them."""
    block = Block(arg_types=[TensorType(f32, [2, DYNAMIC_INDEX, 4])])
    op = OP_BY_NAME["pixel_unshuffle"].make(block.args[0], 2)
    block.add_ops([op, ReturnOp(*op.results)])
    module = ModuleOp([FuncOp("forward", (block.arg_types, op.result_types), Region(block))])
    DecomposeTracedPass().apply(Context(), module)
    assert names(module) == ["aten.pixel_unshuffle"]


@pytest.mark.parametrize(
    ("least", "most", "is_taken"), [(3, 24, True), (1, 24, False), (3, 26, False), (26, 90, True)]
)
def test_what_is_right_for_all_sizes_in_the_range_is_taken(least: int, most: int, is_taken: bool):
    """Distances of up to 25 rows are computed in another way than those of more."""
    rows, result = (f"tensor<?x{n}xf32, #program.sizes<s0>>" for n in (3, 7))
    text = f"""
      func.func @forward(%x: {rows}, %y: tensor<7x3xf32>) -> {result}
          attributes {{program.ranges = #program.ranges<s0 from {least} to {most}>}} {{
        %0 = aten.cdist %x, %y : ({rows}, tensor<7x3xf32>) -> {result}
        func.return %0 : {result}
      }}"""
    module = parse_module(compiler_context(), text)
    DecomposeTracedPass().apply(Context(), module)
    assert ("aten.cdist" not in names(module)) == is_taken
    for n in (least, most) if is_taken else ():
        x, y = r(n, 3), r(7, 3)
        torch.testing.assert_close(Interpreter(module).run(x, y)[0], torch.cdist(x, y))


def test_locations_are_those_of_the_op():
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.Softplus()

        def forward(self, x: Tensor) -> Tensor:
            return self.act(x)

    module = import_program(torch.export.export(Outer(), (r(3),)))
    (place,) = {source_line(op.location) for op in module.walk() if isinstance(op, SchemaOp)}
    DecomposeTracedPass().apply(Context(), module)
    decomposed = [op for op in module.walk() if isinstance(op, SchemaOp)]
    assert len(decomposed) > 1
    assert {source_line(op.location) for op in decomposed} == {place}
    assert {module_path(op.location) for op in decomposed} == {"act"}


def test_equal_calls_are_traced_once(monkeypatch: pytest.MonkeyPatch):
    traced: list[str] = []
    original = decomposition.trace_decomposition

    def counted(target: Any, *args: Any) -> Any:
        traced.append(str(target))
        return original(target, *args)

    monkeypatch.setattr(decomposition, "trace_decomposition", counted)
    monkeypatch.setattr(decomposition, "_derived", {})
    net = nn.Sequential(nn.Softplus(), nn.Softplus(), nn.Softplus(beta=2), nn.Linear(3, 3), nn.Softplus())
    module = import_program(torch.export.export(net, (r(2, 3),)))
    DecomposeTracedPass().apply(Context(), module)
    assert traced == ["aten.softplus.default", "aten.softplus.default", "aten.linear.default"]


def test_constants_of_decompositions_become_symbols():
    """Recorded constants of a trace are constants of the program."""

    def traced(*_: Any) -> Any:
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        constant = graph.get_attr("c")
        y = graph.call_function(torch.ops.aten.add.Tensor, (x, constant))
        y.meta["val"] = torch.empty(3)
        graph.output(y)
        return torch.fx.GraphModule({"c": torch.tensor([1.0, 2.0, 3.0])}, graph)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "trace_decomposition", traced)
        patch.setattr(decomposition, "_derived", {})
        module, _ = calls("mish", r(3))
        DecomposeTracedPass().apply(Context(), module)
    assert names(module) == ["aten.add.Tensor"]
    assert [op.key for op in module.body.block.ops if isinstance(op, GlobalOp)] == ["traced"]
    assert Interpreter(module).run(torch.zeros(3))[0].tolist() == [1.0, 2.0, 3.0]


def test_torch_is_not_imported_for_nothing():
    code = (
        "import sys\n"
        "from xdsl.context import Context\n"
        "from xdsl.dialects.builtin import ModuleOp\n"
        "from et_ir.passes.aten_to_core.decompose_traced import DecomposeTracedPass\n"
        "DecomposeTracedPass().apply(Context(), ModuleOp([]))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
