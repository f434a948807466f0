"""The reasons that patterns of `decompose` give, held against torch's own decomposition of the same calls."""

from __future__ import annotations

import warnings
from collections import defaultdict

import pytest
import torch
from support.decompose_cases import FAMILIES, random, unspecified
from torch._ops import OpOverloadPacket
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter

from dev.calls import RecordedCall, module_of
from et_ir.dialects.aten import AtenOp
from et_ir.dialects.program import Globals
from et_ir.driver.pipelines import core_aten_passes
from et_ir.frontend.decomposition import derive
from et_ir.passes.aten_to_core.decompose.chain import REASONS, Reason
from et_ops.leaves import LEAVES

LAST_RESORT = frozenset(LEAVES) | {cls.name.removeprefix("aten.") for cls in REASONS}


def _calls() -> dict[str, list[RecordedCall]]:
    """Calls by operator: those that the patterns are tested with."""
    found: defaultdict[str, list[RecordedCall]] = defaultdict(list)
    for family in (*FAMILIES, random, unspecified):
        torch.manual_seed(0)
        for target, *args in family():
            kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
            overload = target.default if isinstance(target, OpOverloadPacket) else target
            with warnings.catch_warnings(action="ignore"), torch.no_grad():
                result = overload(*args, **kwargs)
            results = tuple(result) if isinstance(result, list | tuple) else (result,)
            call = RecordedCall(overload, tuple(args), kwargs, results)
            found[f"aten.{call.name}"].append(call)
    return found


CALLS = _calls()


def _operators(module: ModuleOp) -> int | None:
    """The number of operators at the core level; `None` if it is not reached."""
    try:
        for step in core_aten_passes():
            step.apply(Context(), module)
    except Exception:  # what the level's verifier reports
        return None
    return sum(isinstance(op, AtenOp) for op in module.walk())


def _by_torch(call: RecordedCall) -> int | None:
    """As many where torch decomposes the operator itself."""
    module, op, _ = module_of(call)
    derived = derive(op, Globals(module), last_resort=LAST_RESORT)
    if derived is None:
        return None
    PatternRewriter(op).replace(op, *derived)
    return _operators(module)


def _because(reason: Reason) -> list[str]:
    return sorted(cls.name for cls, why in REASONS.items() if why is reason and CALLS.get(cls.name))


@pytest.mark.parametrize("name", _because(Reason.NONE))
def test_torch_has_no_decomposition(name: str) -> None:
    """For one call at least, which the pattern takes."""
    assert any(_by_torch(call) is None and _operators(module_of(call)[0]) is not None for call in CALLS[name])


@pytest.mark.parametrize("name", _because(Reason.FEWER))
def test_torch_takes_more_operators(name: str) -> None:
    counts = [(_operators(module_of(call)[0]), _by_torch(call)) for call in CALLS[name]]
    assert any(ours is not None and (theirs is None or ours < theirs) for ours, theirs in counts), counts
