"""The standard pipelines: which passes take a program from one level to the next.

Each is a pipeline text, as `et-opt -p` takes it, and ends with the check of the level it reaches.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_pipeline

from et_ir.passes import load_pass

__all__ = [
    "ATEN",
    "BACKEND",
    "CORE_ATEN",
    "EDGE",
    "LEVELS",
    "core_aten_pipeline",
    "executorch_pipeline",
    "link_check",
    "parse_passes",
    "quiet_collector",
    "run_pipeline",
    "split_preserved",
]

ATEN: Final = "verify-aten"


def split_preserved(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Operators to preserve: those of torch, which passes leave alone, and those of other libraries (`mylib::foo`),
    which the import keeps whole.
    """
    torch_names = [name.removeprefix("aten::") for name in names]
    return [n for n in torch_names if "::" not in n], [n for n in torch_names if "::" in n]


def core_aten_pipeline(preserve: Sequence[str] = (), *, dequantize: bool = False) -> str:
    """The passes from `aten` to Core ATen. Operators in `preserve` (`linear`, `upsample_nearest2d.vec`) stay whole;
    with `dequantize`, quantised weights become floats.

    Raises `ValueError` for an operator that there is not.
    """
    if preserve:
        from et_ir.dialects.aten import OP_BY_NAME

        for name in preserve:
            if name.removeprefix("aten.") not in OP_BY_NAME:
                close = get_close_matches(name, OP_BY_NAME, n=1)
                raise ValueError(
                    f"there is no operator {name}" + (f", did you mean {close[0]}?" if close else "")
                )
    names = ",".join(f'"{name.removeprefix("aten.")}"' for name in preserve)
    kept = f"{{preserve={names}}}" if preserve else ""
    return ",".join(
        (
            "remove-assertions",
            "fold-batch-norm",  # first: a linear layer is still one op
            f"decompose{kept}",
            f"decompose-traced{kept}",
            f"decompose{kept}",  # what torch's decompositions come down to
            "canonicalize",
            "constant-fold{dequantize=true}" if dequantize else "constant-fold",
            "fold-sizes",
            "canonicalize",  # constants are known now
            "cse",
            "dce",
            f"verify-core-aten{kept}",
        )
    )


CORE_ATEN: Final = core_aten_pipeline()

EDGE: Final = ",".join(
    (
        "views-to-copies",
        "remove-noops",
        "prune-empty-tensors",
        "scalars-to-tensors",
        "promote-types",  # after the scalars, which have become tensors of the promoted type
        "aten-to-edge",
        "memory-formats-to-dim-orders",
        "propagate-dim-order",
        "remove-redundant-copies",
        "canonicalize",
        "constant-fold",  # conversions and layouts of constants
        "cse",
        "dce",
        "verify-edge",
    )
)
"""Why each stands where it does: docs/rationale/edge.md."""

BACKEND: Final = "verify-backend"

LEVELS: Final = ("aten", "core-aten", "edge", "backend", "executorch")
"""The levels a program can be stopped and printed at, in order."""


def executorch_pipeline(
    *,
    target: str = "stock-1.4",
    algorithm: str = "best",
    check_plan: bool = False,
    plan_inputs: bool = True,
    plan_outputs: bool = True,
    extra_operators: Sequence[str] = (),
    unbounded: str = "error",
    memory: str = "",
    caller: Sequence[str] = (),
) -> str:
    """The passes from `backend` to a planned and checked `executorch` module. `extra_operators` are those that the
    runtime has kernels for beside the target's own. With `unbounded` `runtime`, tensors without a largest size get
    memory while the program runs. `check_plan` has memory planning checked; `memory` are banks and `caller` what the
    caller gives the memory of, as `plan-memory` has them.

    Stock's portable convolution is a plain loop, its matrix product is not.
    """
    fit = f'fit-kernels{{target="{target}"}}'
    reorder = f'reorder{{target="{target}"}}'
    kernels = (fit, reorder, "convolutions-to-products") if target.startswith("stock") else (reorder,)
    kernels = (*kernels, f'select-kernels{{target="{target}"}}', "constant-fold", "cse", "dce")
    if target.startswith("stock"):
        # Last, for what folds constants before it would make floats of quantised weights.
        kernels = (
            *kernels,
            f'decompose-quantized{{target="{target}"}}',
            "constant-fold{limit=0}",
            "cse",
            "dce",
        )
    kernels = (*kernels, f'kernel-limits{{target="{target}"}}')
    check = "check=true " if check_plan else ""
    banks = f' memory="{memory}"' if memory else ""
    callers = " caller=" + ",".join(f'"{name}"' for name in caller) if caller else ""
    plan = (
        f'plan-memory{{algorithm="{algorithm}" {check}'
        f"plan-inputs={str(plan_inputs).lower()} "
        f"plan-outputs={str(plan_outputs).lower()}"
        f"{banks}{callers}}}"
    )
    return ",".join(
        (
            *kernels,
            "to-out-variant" if unbounded == "error" else f"to-out-variant{{unbounded={unbounded}}}",
            "write-back",
            # What the caller gives memory for stays alone.
            "views{inputs=true}" if plan_inputs and not caller else "views",
            f'update-in-place{{target="{target}"}}',
            f'in-place{{target="{target}"}}',
            f"concatenate-in-place{{outputs={str(plan_outputs and not caller).lower()}}}",
            link_check(target, extra_operators),
            plan,
            *(() if unbounded == "error" else ("free-unbounded",)),
            "verify-executorch",
        )
    )


def link_check(target: str, extra: Sequence[str] = ()) -> str:
    """The pass that checks that a runtime has the kernels of a program."""
    names = ",".join(f'"{name}"' for name in extra)
    return f'link-check{{target="{target}"{f" extra={names}" if names else ""}}}'


def parse_passes(pipeline: str) -> list[ModulePass]:
    """The passes of a pipeline text. Raises `KeyError` for an unknown pass."""
    return [load_pass(spec.name).from_pass_spec(spec) for spec in parse_pipeline(pipeline)]


def run_pipeline(
    module: ModuleOp,
    pipeline: str,
    ctx: Context | None = None,
    after: Callable[[ModulePass, ModuleOp], None] | None = None,
) -> None:
    """Run a pipeline on a module in place; `after` is called after each pass.

    Raises what the passes raise: `PassFailedException` and its subclasses for programs they cannot take.
    """
    context = Context() if ctx is None else ctx
    with quiet_collector():
        for one in parse_passes(pipeline):
            one.apply(context, module)
            if after is not None:
                after(one, module)


@contextmanager
def quiet_collector() -> Generator[None]:
    """Collect garbage rarely meanwhile: a module is a web of live objects that collections walk for nothing."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
