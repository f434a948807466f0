"""For calls that torch's own samples of operators make, inferred types and decompositions agree with torch."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
import torch
from aten_interpreter import Interpreter
from sweep.compare import same_elements
from torch.testing._internal.common_methods_invocations import op_db
from xdsl.context import Context

from dev.calls import NotExpressible, RecordedCall, module_of, result_type, sampled_calls
from et_ir.dialects.schema import compatible
from et_ir.dialects.schema.inference import infer
from et_ir.passes.aten_to_core.decompose import DecomposePass
from et_ir.passes.aten_to_core.decompose.chain import DECOMPOSITIONS

SAMPLES = {torch.float32: 2, torch.int64: 1, torch.bfloat16: 1}
"""Samples of each operator by element type, beside one of another type that depends on the operator."""

OTHERS = (
    torch.float16,
    torch.float64,
    torch.uint8,
    torch.int32,
    torch.bool,
    torch.int8,
    torch.complex64,
)

TOLERANCES = {torch.bfloat16: (5e-2, 5e-2), torch.float16: (2e-2, 2e-2), torch.float32: (1e-4, 1e-5)}

UNSPECIFIED = {
    "aten.empty_like",
    "aten.empty_permuted",
    "aten.empty_strided",
    "aten.new_empty",
    "aten.new_empty_strided",
}
"""Operators that say nothing of the elements of their results."""

SORTS = {"aten.sort", "aten.argsort"}
"""Operators whose last result says where elements came from, in an order that is undefined among equal ones."""

LESS_EXACT = {"aten.addr", "aten.addbmm", "aten.baddbmm", "aten.addmv"}
"""Operators whose products torch rounds once with the term that is added, and which are here rounded before: their
results in bf16 can cancel down to the rounding error."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "op_info", op_db, ids=lambda info: f"{info.name}{info.variant_test_name and '-'}{info.variant_test_name}"
)
def test_calls_of_samples(op_info: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        supported = op_info.supported_dtypes("cpu")
        others = [dtype for dtype in OTHERS if dtype in supported]
        other = {random.Random(op_info.name).choice(others): 1} if others else {}
        for dtype, limit in (SAMPLES | other).items():
            if dtype in supported:
                torch.manual_seed(0)
                for call in sampled_calls(op_info, dtype, limit):
                    check(call)


def check(call: RecordedCall) -> None:
    try:
        module, op, inputs = module_of(call)
        expected = [result_type(result) for result in call.results]
    except NotExpressible:
        return
    found = infer(op)
    if found is not None:
        assert len(found) == len(expected), str(call)
        assert all(map(compatible, found, expected)), f"{call} inferred {[str(t) for t in found]}"
    if type(op) not in DECOMPOSITIONS or op.name in UNSPECIFIED:
        return
    if torch.Tag.nondeterministic_seeded in call.target.tags:
        return  # random numbers: test_random.py tests their distributions
    if op.name in LESS_EXACT and call.results[0].dtype is torch.bfloat16:
        return
    DecomposePass().apply(Context(), module)
    module.verify()
    if op.parent is not None:
        return  # left as it is: nothing to compare, and perhaps random
    results = list(Interpreter(module).run(*inputs))
    wanted_results = list(call.results)
    if op.name in SORTS:
        # What is at the places counts, not which of the places of equal elements came first.
        results[-1] = torch.take_along_dim(inputs[0], results[-1], op.arg("dim"))
        wanted_results[-1] = torch.take_along_dim(inputs[0], wanted_results[-1], op.arg("dim"))
    if op.name == "aten.kthvalue" and same_elements(inputs[0], results[-1], wanted_results[-1]):
        results[-1] = wanted_results[-1]
    for actual, wanted in zip(results, wanted_results, strict=True):
        if isinstance(wanted, torch.Tensor):
            rtol, atol = TOLERANCES.get(wanted.dtype, (1e-4, 1e-5))
            torch.testing.assert_close(
                actual,
                wanted.contiguous(),
                rtol=rtol,
                atol=atol,
                equal_nan=True,
                check_stride=False,
                msg=lambda text: f"{call}: {text}\n{module}",
            )
