"""No result is larger than the bounds that are derived for it, whatever the operator, and most have bounds."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
import torch
from support.decompose_cases import FAMILIES
from support.inference_cases import core, others
from torch._ops import OpOverloadPacket
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from dev.calls import RecordedCall, module_of
from et_ir.analysis.bounds import SizeBounds
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import RangeOp
from et_ir.dialects.schema import DYNAMIC
from et_ir.dialects.schema.tensors import is_tensor


def called(case: tuple[Any, ...]) -> RecordedCall:
    target, *args = case
    kwargs: dict[str, Any] = args.pop() if args and isinstance(args[-1], dict) else {}
    overload = target.default if isinstance(target, OpOverloadPacket) else target
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        found = overload(*args, **kwargs)
    return RecordedCall(
        overload, tuple(args), kwargs, tuple(found) if isinstance(found, list | tuple) else (found,)
    )


def loosen(value: SSAValue, sizes: list[int]) -> None:
    type: Any = value.type
    value._type = TensorType(type.element_type, sizes)


def state(value: SSAValue, dim: int, most: int, before: Operation) -> None:
    """Say what a size is at most."""
    size = aten.SymSizeIntOp.make(value, dim)
    block = before.parent_block()
    assert isinstance(block, Block)
    block.insert_ops_before([size, RangeOp(size.result, 0, most)], before)


@pytest.mark.parametrize("slack", [0, 3, None], ids=["exact", "all by 3", "each by its own"])
@pytest.mark.parametrize("family", [core, others, *FAMILIES], ids=lambda family: family.__name__)
def test_results_are_within_their_bounds(family: Any, slack: int | None) -> None:
    """Sizes of operands are stated to be at most what they are, and more; no size of a result is known."""
    torch.manual_seed(0)
    for number, case in enumerate(family()):
        call = called(case)
        chosen = random.Random(f"{call.name} {number} {slack}")
        _, op, _ = module_of(call)
        for value in dict.fromkeys(op.operands):
            if not isinstance(value, BlockArgument) or not is_tensor(value.type):
                continue
            sizes = value.type.get_shape()
            unknown = [size != 1 and chosen.random() < 0.6 for size in sizes]
            loosen(value, [DYNAMIC if u else size for u, size in zip(unknown, sizes, strict=True)])
            for dim, size in enumerate(sizes):
                if unknown[dim]:
                    state(value, dim, size + (chosen.randrange(4) if slack is None else slack), op)
        for result in op.results:
            if is_tensor(result.type):
                loosen(result, [DYNAMIC] * result.type.get_num_dims())
        block = op.parent_block()
        assert block is not None
        bounds = SizeBounds(block)
        for result, value in zip(op.results, call.results, strict=True):
            if isinstance(value, torch.Tensor):
                found = bounds.sizes(result)
                assert all(b is None or b >= size for b, size in zip(found, value.shape, strict=True)), (
                    f"{call.name}: {found} for {tuple(value.shape)}"
                )
