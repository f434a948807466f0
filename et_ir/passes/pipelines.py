"""The standard pipelines: which passes take a program from one level to the next.

Each is a pipeline text, as `et-opt -p` takes it, and ends with the check of the level it reaches.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_pipeline

from et_ir.passes import load_pass
from et_ir.presets import DEFAULT, PRESETS, Preset, preset
from et_ir.targets.registry import DEFAULT as DEFAULT_TARGET
from et_ir.targets.registry import find_target

__all__ = [
    "ATEN",
    "BACKEND",
    "CORE_ATEN",
    "EDGE",
    "LEVELS",
    "core_aten_pipeline",
    "edge_pipeline",
    "executorch_pipeline",
    "link_check",
    "named_pipelines",
    "parse_passes",
    "quiet_collector",
    "run_pipeline",
    "split_preserved",
]

ATEN: Final = "verify-aten"
BEHIND: Final = 50_000
"""The budget of the second search for an order."""


def split_preserved(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Operators to preserve: those of torch, which passes leave alone, and those of other libraries (`mylib::foo`),
    which the import keeps whole.
    """
    torch_names = [name.removeprefix("aten::") for name in names]
    return [n for n in torch_names if "::" not in n], [n for n in torch_names if "::" in n]


def core_aten_pipeline(
    preserve: Sequence[str] = (), *, dequantize: bool = False, level: str = DEFAULT
) -> str:
    """The passes from `aten` to Core ATen. Operators in `preserve` (`linear`, `upsample_nearest2d.vec`) stay whole;
    with `dequantize`, quantised weights become floats. `level` is that of `-O`.

    Raises `ValueError` for an operator or a level that there is not.
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
    fold = "constant-fold{dequantize=true}"
    if not preset(level).simplify:
        return _joined(
            "remove-assertions",
            f"decompose{kept}",
            f"decompose-traced{kept}",
            f"decompose{kept}",
            fold if dequantize else "",
            "fold-sizes",
            "dce",
            f"verify-core-aten{kept}",
        )
    return _joined(
        "remove-assertions",
        "fold-batch-norm",  # first: a linear layer is still one op
        f"decompose{kept}",
        f"decompose-traced{kept}",
        f"decompose{kept}",  # what torch's decompositions come down to
        "canonicalize",
        "fold-state{dead=true}" if preset(level).forget else "fold-state",
        fold if dequantize else "constant-fold",
        "fold-sizes",
        "canonicalize",  # constants are known now
        "fold-scales",
        "cse",
        "dce",
        f"verify-core-aten{kept}",
    )


def edge_pipeline(*, level: str = DEFAULT) -> str:
    """The passes from Core ATen to `edge`. `level` is that of `-O`.

    Why each stands where it does: docs/rationale/edge.md. Raises `ValueError` for a level that there is not.
    """
    simplify = preset(level).simplify
    return _joined(
        "views-to-copies",
        "remove-noops" if simplify else "",
        "prune-empty-tensors",
        "scalars-to-tensors",
        "promote-types",  # after the scalars, which have become tensors of the promoted type
        "aten-to-edge",
        "memory-formats-to-dim-orders",
        "propagate-dim-order",
        *(("remove-redundant-copies", "canonicalize") if simplify else ()),
        *(("constant-fold", "cse") if simplify else ()),  # conversions and layouts of constants
        "dce",
        "verify-edge",
    )


def executorch_pipeline(
    *,
    target: str = DEFAULT_TARGET,
    algorithm: str = "best",
    check_plan: bool = False,
    plan_inputs: bool = True,
    plan_outputs: bool = True,
    extra_operators: Sequence[str] = (),
    extra_backends: Sequence[str] = (),
    unbounded: str = "error",
    level: str = DEFAULT,
    memory: str = "",
    caller: Sequence[str] = (),
    pins: Mapping[str, str] | None = None,
) -> str:
    """The passes from `backend` to a planned and checked `executorch` module. `extra_operators` are those that the
    runtime has kernels for beside the target's own, `extra_backends` the ids of backends that it has. With `unbounded`
    `runtime`, tensors without a largest size get memory while the program runs. `check_plan` has memory
    planning checked; `memory` are banks and `caller` what the caller gives the memory of, as `plan-memory` has them.
    `level` is that of `-O`.

    Raises `ValueError` for a level that there is not.
    """
    simplify = preset(level).simplify
    tidy = ("cse", "dce") if simplify else ("dce",)
    check = "check=true " if check_plan else ""
    banks = f' memory="{memory}"' if memory else ""
    pinned = ",".join(f'"{selector}={bank}"' for selector, bank in (pins or {}).items())
    callers = " caller=" + ",".join(f'"{name}"' for name in caller) if caller else ""
    return _joined(
        *_kernels(target, preset(level)),
        # Last, for what folds constants before it would make floats of quantised weights.
        *(
            (f'decompose-quantized{{target="{target}"}}', "constant-fold{limit=0}", *tidy)
            if find_target(target).quantized_as_torch is not None
            else ()
        ),
        f'kernel-limits{{target="{target}"}}',
        "to-out-variant" if unbounded == "error" else f"to-out-variant{{unbounded={unbounded}}}",
        "write-back",
        # What the caller gives memory for stays alone.
        *(
            _sharing(target, inputs=plan_inputs and not caller, outputs=plan_outputs and not caller)
            if simplify
            else ()
        ),
        link_check(target, extra_operators, extra_backends),
        f'plan-memory{{algorithm="{algorithm}" {check}'
        f"plan-inputs={str(plan_inputs).lower()} "
        f"plan-outputs={str(plan_outputs).lower()}"
        f"{banks}{callers}{f' pin={pinned}' if pinned else ''}}}",
        "" if unbounded == "error" else "free-unbounded",
        "verify-executorch",
    )


def _kernels(target: str, level: Preset) -> Sequence[str]:
    """The passes that find kernels for operators: kernels that take what they are given, and those that are fast."""
    fit = f'legalize{{target="{target}"}}' if find_target(target).legalizations else ""
    if level.memory is None:
        return (fit, "dce")
    given = f'{{target="{target}" memory={level.memory} workspace={level.workspace}}}'
    sparing = level.memory != "any"
    return (
        fit,
        "sink-concatenations",
        # Before the forms too: how much memory these may take is what the program needs anyway.
        f'rematerialize{{target="{target}"}}' if sparing else "",
        f'reorder{{target="{target}"}}',
        # Groups copy what they share for each anew, which the fastest forms would not.
        f'split-channels{{target="{target}"}}' if find_target(target).splits_channels and sparing else "",
        f"pools-to-maxima{given}",
        f"convolutions-to-products{given}",
        f'select-kernels{{target="{target}"}}',
        "constant-fold",
        "cse",
        "dce",
        # Behind the forms, whose copies need memory too; what they are forms of is in order.
        f'reorder{{target="{target}" budget={BEHIND}}}',
    )


def _sharing(target: str, *, inputs: bool, outputs: bool) -> Sequence[str]:
    """The passes after which tensors are parts of others' memory, or take it over: `inputs` and `outputs` too."""
    return (
        "views{inputs=true}" if inputs else "views",
        f'update-in-place{{target="{target}"}}',
        f'in-place{{target="{target}"}}',
        f"concatenate-in-place{{outputs={str(outputs).lower()}}}",
    )


def _joined(*steps: str) -> str:
    """A pipeline of those steps that there are."""
    return ",".join(step for step in steps if step)


CORE_ATEN: Final = core_aten_pipeline()
EDGE: Final = edge_pipeline()
BACKEND: Final = "verify-backend"

LEVELS: Final = ("aten", "core-aten", "edge", "backend", "executorch")
"""The levels a program can be stopped and printed at, in order."""


def link_check(target: str, extra: Sequence[str] = (), backends: Sequence[str] = ()) -> str:
    """The pass that checks that a runtime has the kernels and the backends of a program."""
    options = [f'target="{target}"']
    for option, names in (("extra", extra), ("backends", backends)):
        if names:
            options.append(f"{option}=" + ",".join(f'"{name}"' for name in names))
    return f"link-check{{{' '.join(options)}}}"


def named_pipelines(target: str = DEFAULT_TARGET) -> dict[str, str]:
    """The standard pipelines by the names that `et-opt` knows them by: `O1-core-aten`, `O1-edge`, `O1-executorch`, and
    so for each level.
    """
    found: dict[str, str] = {}
    for level in PRESETS:
        found[f"O{level}-core-aten"] = core_aten_pipeline(level=level)
        found[f"O{level}-edge"] = edge_pipeline(level=level)
        found[f"O{level}-executorch"] = executorch_pipeline(level=level, target=target)
    return found


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
