"""Corners of arguments, compiled and run on both kernel libraries, against eager: no dimensions, a `dtype`, rank 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from support.programs import Calls
from torch import Tensor

from et_ir import ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime


def check(library: str, function: Callable[..., Any], *inputs: Tensor) -> None:
    """The compiled function gives what the eager one gives."""
    expected = function(*inputs)
    config = ExecutorchBackendConfig(target="et-vm-aten" if library == "aten" else "et-vm")
    program = to_edge(torch.export.export(Calls(function), inputs)).to_executorch(config).buffer
    outputs = Runtime.get().load_program(program, kernels=library).load_method("forward").execute(inputs)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    for got, want in zip(outputs, wanted, strict=True):
        torch.testing.assert_close(got, want, rtol=2e-3, atol=2e-3)


INPUTS: Final = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32)
ACCUMULATED: Final[dict[str, Callable[..., Tensor]]] = {
    "sum": torch.sum,
    "sum_dim": lambda x, dtype: torch.sum(x, 1, dtype=dtype),
    "prod": torch.prod,
    "prod_dim": lambda x, dtype: torch.prod(x, 1, dtype=dtype),
    "cumsum": lambda x, dtype: torch.cumsum(x, 1, dtype=dtype),
    "cumprod": lambda x, dtype: torch.cumprod(x, 1, dtype=dtype),
    "nansum": torch.nansum,
    "mean": torch.mean,
    "mean_dim": lambda x, dtype: torch.mean(x, 1, dtype=dtype),
    "softmax": lambda x, dtype: torch.softmax(x, 1, dtype=dtype),
    "log_softmax": lambda x, dtype: torch.log_softmax(x, 1, dtype=dtype),
}
WITHOUT: Final = {
    **dict.fromkeys(("mean", "mean_dim"), (torch.int64, torch.bool)),
    **dict.fromkeys(("softmax", "log_softmax"), (torch.int64, torch.bool, torch.complex64)),
    **dict.fromkeys(("cumsum", "cumprod"), (torch.bool,)),
    "nansum": (torch.complex64,),
}
"""Types that torch's own kernel does not accumulate in."""


@pytest.mark.parametrize("library", ["portable", "aten"])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in ACCUMULATED
        for dtype in (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)
        if dtype not in WITHOUT.get(name, ())
    ],
    ids=str,
)
def test_dtype(name: str, dtype: torch.dtype, library: str) -> None:
    """A reduction or scan in another type than that of its operand."""
    for given in INPUTS:
        x = torch.tensor([[0, 1, 2, 1], [1, 3, 1, 1]]).to(given)
        check(library, lambda x: ACCUMULATED[name](x, dtype=dtype), x)


OVER_NO_DIMENSION: Final[dict[str, Callable[..., Any]]] = {
    "any": lambda x: torch.any(x, dim=()),
    "any_keepdim": lambda x: torch.any(x, dim=(), keepdim=True),
    "all": lambda x: torch.all(x, dim=()),
    "sum": lambda x: torch.sum(x, dim=()),
    "sum_keepdim": lambda x: torch.sum(x, dim=(), keepdim=True),
    "mean": lambda x: torch.mean(x, dim=()),
    "amax": lambda x: torch.amax(x, dim=()),
    "var": lambda x: torch.var(x, dim=()),
    "var_mean": lambda x: torch.var_mean(x, dim=()),
    "count_nonzero": lambda x: torch.count_nonzero(x, dim=()),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, dim=()),
    "flip": lambda x: torch.flip(x, ()),
    "squeeze": lambda x: torch.squeeze(x, ()),
}


@pytest.mark.parametrize("library", ["portable", "aten"])
@pytest.mark.parametrize("name", OVER_NO_DIMENSION)
def test_no_dimensions(name: str, library: str) -> None:
    """To `any` and `all` an empty list is no dimension at all, to most others it is all of them."""
    for x in (torch.tensor([[0.0, 1.0, 2.0], [0.0, -1.0, 0.5]]), torch.tensor(3.0)):
        if name.startswith("var") and not x.dim():
            continue
        check(library, OVER_NO_DIMENSION[name], x)


INDEXED: Final[dict[str, Callable[..., Tensor]]] = {
    "gather": lambda x, index, source: torch.gather(x, 0, index),
    "scatter_value": lambda x, index, source: torch.scatter(x, 0, index, 9.0),
    "scatter_src": lambda x, index, source: torch.scatter(x, 0, index, source),
    "scatter_add": lambda x, index, source: torch.scatter_add(x, 0, index, source),
    "scatter_reduce": lambda x, index, source: torch.scatter_reduce(x, 0, index, source, "amax"),
    "scatter_value_reduce": lambda x, index, source: torch.scatter(x, 0, index, 2.0, reduce="multiply"),
    "take": lambda x, index, source: torch.take(x, index),
    "index_select": lambda x, index, source: torch.index_select(x, 0, index),
    "index_fill": lambda x, index, source: torch.index_fill(x, 0, index, 1.0),
}


@pytest.mark.parametrize("library", ["portable", "aten"])
@pytest.mark.parametrize("name", INDEXED)
def test_rank_0(name: str, library: str) -> None:
    """A tensor, an index or a source of rank 0 is as good as one of rank 1 with one element."""
    for x in (torch.arange(5.0), torch.tensor(2.0)):
        for index in (torch.tensor(0), torch.tensor([0])):
            for source in (torch.tensor(3.0), torch.tensor([3.0])):
                check(library, INDEXED[name], x, index, source)


def test_an_index_of_rank_0_out_of_range() -> None:
    program = to_edge(
        torch.export.export(
            Calls(lambda x, i: torch.scatter(x, 0, i, 9.0)), (torch.arange(5.0), torch.tensor(0))
        )
    ).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    with pytest.raises(Exception, match=r"indices in \[0, 5\)"):
        method.execute([torch.arange(5.0), torch.tensor(5)])
