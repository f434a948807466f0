"""Programs of the registry, by family: what eager computes for a sequence of inputs."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import cache_forms
import control_flow_programs
import fresh_programs
import fused_programs
import number_programs
import quantized_graphs
import rank_zero_programs
import reinterpreting_programs
import resizing_programs
import scalar_programs
import sized_programs
import torch
import tosa_programs
import window_programs
import written_inputs
import xnnpack_programs
from example_models import ALL, FACTORIES, SMALL, Model, build
from program_features import CASES as FEATURES
from stock import compile_stock
from torch import nn
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import ModuleOp

from et_ir.frontend import import_program

__all__ = ["CASES", "Case", "ModelCase", "Prepared", "PreparedModel", "prepared"]

REPETITIONS: Final = 4
"""Number of executions with the same inputs: registers keep what they held, and executions must not see it. From the
third at the same sizes on, what these tell is not computed again.
"""
KEPT: Final = 200 << 20
"""Bytes of the files of a program that are kept for other routes."""


@dataclass(frozen=True)
class Case:
    """A program of a family."""

    family: str
    is_group: bool = field(default=False, kw_only=True)
    """Whether it is a group of operators, of which backends may leave some, rather than one."""
    step: float = field(default=0.0, kw_only=True)
    """The largest scale of quantized results, by which they may be off: integers round at other places than floats."""

    def prepared(self, store: Path) -> Prepared:
        """The program exported, imported and run; `store` is for what the stock compiler makes."""
        raise NotImplementedError


@dataclass(frozen=True)
class ModuleCase(Case):
    """A module, and its inputs in the order of its executions; the first are those that it is exported with.

    `bounds` are the upper bounds that a user gives for sizes. State goes on from one execution to the next.
    """

    make: Callable[[], tuple[nn.Module, Sequence[tuple[Any, ...]]]]
    dynamic_shapes: Any = None
    bounds: Mapping[str, int] = field(default_factory=dict[str, int])
    repetitions: int = 1

    def prepared(self, store: Path) -> Prepared:
        del store
        torch.manual_seed(0)
        module, runs = self.make()
        module = module.eval()
        kwargs = next((one for one in runs[0] if isinstance(one, Keywords)), {})
        with warnings.catch_warnings(action="ignore"):  # of torch about its own tracing
            program = torch.export.export(
                copy.deepcopy(module), _positional(runs[0]), dict(kwargs), dynamic_shapes=self.dynamic_shapes
            )
        given = [run for run in runs for _ in range(self.repetitions)]
        given += reversed(runs) if len(runs) > 1 else []
        eager = copy.deepcopy(module)
        expected: list[list[Any]] = []
        for run in given:
            arguments = _copied((_positional(run), dict(kwargs)))
            with torch.no_grad():
                results = _values(eager(*arguments[0], **arguments[1]))
            expected.append(results + _values(arguments))
        return Prepared(
            program,
            import_program(program, default_bounds=self.bounds),
            [pytree.tree_leaves((_positional(run), dict(kwargs))) for run in given],
            expected,
        )


@dataclass(frozen=True)
class ModelCase(Case):
    """An example model, which is executed twice: the second execution finds what the first has left in memory."""

    name: str

    def prepared(self, store: Path) -> PreparedModel:
        model = build(self.name)
        for value in model.expected:
            # Outputs that had decayed towards zero would pass any comparison with an absolute tolerance.
            assert 0.02 < value.std() < 20
            assert value.isfinite().all()
        return PreparedModel(
            model.program,
            import_program(model.program),
            [model.inputs] * 2,
            [[*model.expected, *model.inputs]] * 2,
            model,
            store,
        )


@dataclass(frozen=True)
class Prepared:
    """A case exported and imported to the aten level, with the inputs of its executions, flat, and for each what eager
    returns, followed by what it leaves in the inputs.
    """

    exported: torch.export.ExportedProgram
    module: ModuleOp
    inputs: Sequence[list[Any]]
    expected: Sequence[list[Any]]
    files: dict[Hashable, bytes] = field(default_factory=dict[Hashable, bytes], init=False)

    def file(self, configuration: Hashable, make: Callable[[], bytes]) -> bytes:
        """What a configuration of the compiler makes of the program, once for the routes that share it."""
        if configuration not in self.files:
            file = make()
            while self.files and len(file) + sum(map(len, self.files.values())) > KEPT:
                del self.files[next(iter(self.files))]
            self.files[configuration] = file
        return self.files[configuration]

    @functools.cached_property
    def stock_file(self) -> bytes:
        """The file of the stock compiler, made once: a second compilation of one program may fail.

        Raises `RuntimeError` for what the compiler raises, of several types.
        """
        try:
            return compile_stock(self.exported)
        except Exception as error:
            raise RuntimeError(f"the stock compiler refuses the program: {type(error).__name__}") from error


@dataclass(frozen=True)
class PreparedModel(Prepared):
    """The same of an example model, for which files of the stock compiler are kept in the folder `store`."""

    model: Model
    store: Path

    @functools.cached_property
    def stock_file(self) -> bytes:
        return self.model.stock_file(self.store).read_bytes()

    @functools.cached_property
    def stock_xnnpack_file(self) -> bytes:
        """The same, lowered by the stock partitioner for XNNPACK."""
        return self.model.stock_xnnpack_file(self.store).read_bytes()


@functools.lru_cache(maxsize=2)
def prepared(name: str, store: Path) -> Prepared:
    """The case of this name, made once for all of its routes."""
    return CASES[name].prepared(store)


class Keywords(dict[str, Any]):
    """Arguments by name, behind the positional ones."""


def _positional(run: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one for one in run if not isinstance(one, Keywords))


def _copied(arguments: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, torch.clone, arguments)


def _values(results: Any) -> list[Any]:
    return [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in pytree.tree_leaves(results)]


def _operators(
    make: Callable[[], tuple[nn.Module, Sequence[Any]]],
    family: str = "operators",
    *,
    is_group: bool = False,
    step: float = 0.0,
) -> Case:
    def once() -> tuple[nn.Module, Sequence[tuple[Any, ...]]]:
        module, inputs = make()
        return module, [tuple(inputs)]

    return ModuleCase(family, once, is_group=is_group, step=step)


def _control_flow(program: control_flow_programs.Program) -> Case:
    return ModuleCase(
        "control flow",
        lambda: (program.make(), program.inputs),
        program.dynamic_shapes,
        repetitions=REPETITIONS,
    )


def _sized(case: sized_programs.Case) -> Case:
    return ModuleCase(
        "sizes",
        lambda: (sized_programs.module_of(case), [sized_programs.inputs_of(one) for one in case.fits]),
        case.dynamic,
        case.bounds,
        REPETITIONS,
    )


def _shown(sized: reinterpreting_programs.Sized) -> Case:
    return ModuleCase("sizes", lambda: (sized.module(), sized.inputs()), sized.dynamic_shapes)


def _resized(sized: resizing_programs.Sized) -> Case:
    return ModuleCase("resizes of any size", lambda: (sized.module(), sized.inputs()), sized.dynamic_shapes)


def _cache(form: cache_forms.Form) -> Case:
    return ModuleCase("caches", lambda: (cache_forms.Cache(form.write, form.shape), cache_forms.steps()))


def _written(name: str) -> Case:
    return ModuleCase("written inputs", lambda: written_inputs.program(name), repetitions=2)


def _feature(make: Callable[[], Any]) -> Case:
    def once() -> tuple[nn.Module, Sequence[tuple[Any, ...]]]:
        feature = make()
        return feature.module, [(*feature.args, Keywords(feature.kwargs))]

    return ModuleCase("features", once)


def _model(name: str) -> Case:
    family = (
        "small models" if name in SMALL else "models" if name in FACTORIES else "models of microcontrollers"
    )
    return ModelCase(family, name)


CASES: Final[dict[str, Case]] = {
    **{name: _operators(make) for name, make in xnnpack_programs.PROGRAMS.items()},
    **{f"group {name}": _operators(make, is_group=True) for name, make in tosa_programs.CASES.items()},
    **{f"numbers, {name}": _operators(make, "numbers") for name, make in number_programs.PROGRAMS.items()},
    **{f"fused, {name}": _operators(make, "fused") for name, make in fused_programs.PROGRAMS.items()},
    **{f"fresh, {name}": _operators(make, is_group=True) for name, make in fresh_programs.CASES.items()},
    **{f"windows, {name}": _operators(make, is_group=True) for name, make in window_programs.CASES.items()},
    **{
        f"quantized, {name}": _operators(make, "quantized", is_group=True, step=quantized_graphs.STEP)
        for name, make in quantized_graphs.CASES.items()
    },
    **{
        f"rank 0, {name}": _operators(make, is_group=True)
        for name, make in rank_zero_programs.PROGRAMS.items()
    },
    **{name: _operators(make, "resizes", is_group=True) for name, make in resizing_programs.PROGRAMS.items()},
    **{name: _operators(make, is_group=True) for name, make in reinterpreting_programs.PROGRAMS.items()},
    **{f"sizes, {name}": _shown(sized) for name, sized in reinterpreting_programs.OF_RUN_TIME_SIZES.items()},
    **{name: _operators(make, "scalars") for name, make in scalar_programs.PROGRAMS.items()},
    **{f"sizes, {name}": _resized(sized) for name, sized in resizing_programs.OF_RUN_TIME_SIZES.items()},
    **{name: _control_flow(program) for name, program in control_flow_programs.PROGRAMS.items()},
    **{f"sizes, {name}": _sized(case) for name, case in sized_programs.CASES.items()},
    **{f"cache, {form.name}": _cache(form) for form in cache_forms.FORMS},
    **{f"feature, {name}": _feature(make) for name, make in FEATURES.items()},
    **{f"written inputs, {name}": _written(name) for name in written_inputs.PROGRAMS},
    **{f"model, {name}": _model(name) for name in ALL},
}
