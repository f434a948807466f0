"""Every kernel of both libraries against torch."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterable

import pytest
import torch
from kernel_oracle import (
    FAMILIES,
    Recorded,
    channels_last_form,
    check,
    composite,
    in_place_forms,
    record,
    registry,
)
from kernel_samples import collect
from kernel_samples_core import core_calls
from kernel_samples_counts import count_calls
from kernel_samples_math import math_calls
from kernel_samples_search import search_calls
from kernel_samples_special import special_calls

from et_vm.kernels.aten.schema import functional

LIBRARIES = ("portable", "aten")
OPERATORS = sorted(name for names in FAMILIES.values() for name in names if name.startswith("aten::"))
ELEMENTWISE = {
    name
    for family in ("unary", "binary", "comparison", "activation")
    for name in FAMILIES[f"pointwise.{family}"]
}

# Writes its own argument instead of an output: tried in test_kernels_layouts.py.
IN_PLACE = {"aten::copy_", "aten::index_put_", "aten::_native_batch_norm_legit.out"}

GENERIC = sorted(
    name
    for family, names in FAMILIES.items()
    if family.partition(".")[0] in ("pointwise", "reduction", "sorting")
    for name in names
    if name.startswith("aten::")
)
"""Kernels of many element types, most of which take any tensors and numbers."""
KINDS = (torch.bool, torch.uint8, torch.int64, torch.float32, torch.complex64)


# What torch says of a variance of one element, which is NaN in both libraries.
pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")


@pytest.fixture(scope="session")
def samples() -> dict[str, list[Recorded]]:
    return collect(OPERATORS)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("operator", sorted(set(OPERATORS) - IN_PLACE))
def test_results(samples: dict[str, list[Recorded]], operator: str, library: str) -> None:
    assert samples[operator], f"no sample reaches {operator}"
    for call in samples[operator]:
        check(library, call)


def test_each_kind_of_elements() -> None:
    """What torch takes of one kind of elements, with flags set and not, the kernel takes too."""
    tried = set[str]()
    overloads = [(one, overload) for one in GENERIC if (overload := functional(one)) is not None]
    for (operator, overload), dtype, flag in itertools.product(overloads, KINDS, (True, False)):
        numbers = torch.tensor([[4, 1, 1], [3, 2, 5]])
        tensor = numbers > 1 if dtype == torch.bool else numbers.to(dtype)
        values = {"Tensor": tensor, "Optional[Tensor]": tensor, "int": 1, "number": 2, "bool": flag}
        needed = [str(one.type) for one in overload._schema.arguments if not one.has_default_value()]
        if not values.keys() >= set(needed) or (not flag and "bool" not in needed):
            continue
        try:
            call = composite(overload, *(values[kind] for kind in needed))
        except (IndexError, RuntimeError):  # torch does not take these
            continue
        check("portable", call)
        tried.add(operator)
    assert len(tried) > 150


def _check_own(calls: Iterable[Callable[[], object]], least: int) -> None:
    """Compare the operators that `calls` reach with torch, in the portable library."""
    own = set(OPERATORS) - IN_PLACE
    checked: set[str] = set()
    for function in calls:
        for call in record(function, lambda operator, _: operator in own):
            check("portable", call)
            checked.add(call.operator)
    assert len(checked) >= least


def test_results_of_functions() -> None:
    """The samples of mathematical functions, without those of torch: in a third of a second."""
    _check_own(itertools.chain(math_calls(), special_calls()), 60)


def test_results_of_searches() -> None:
    """The samples of sorting and searching."""
    _check_own(search_calls(), 20)


def test_results_of_core_operators() -> None:
    """One in five of the samples of Core ATen and of counting."""
    _check_own(itertools.islice(itertools.chain(core_calls(), count_calls()), 0, None, 5), 25)


@pytest.mark.parametrize("operator", sorted(set(OPERATORS) - IN_PLACE))
def test_results_from_constants(samples: dict[str, list[Recorded]], operator: str) -> None:
    """With read-only inputs, of which kernels may keep converted or rearranged copies."""
    for call in samples[operator][::3]:
        check("portable", call, constants=True)


@pytest.mark.parametrize("library", LIBRARIES)
def test_results_with_channels_last(samples: dict[str, list[Recorded]], library: str) -> None:
    tried = 0
    for operator in sorted(set(OPERATORS) - IN_PLACE):
        for call in samples[operator]:
            changed = channels_last_form(call)
            if changed is not None:
                check(library, changed)
                tried += 1
    assert tried > 200


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("operator", sorted(ELEMENTWISE))
def test_results_over_an_input(samples: dict[str, list[Recorded]], operator: str, library: str) -> None:
    """The planner may give the output of an elementwise operator the memory of one of its inputs."""
    for call in samples[operator]:
        for position in in_place_forms(call):
            check(library, call, over=position)


def test_every_stock_kernel_has_a_portable_one() -> None:
    """Asked in a process of its own: libraries of operators that tests load add to the list."""
    from et_vm.kernels.prims import PRIMS

    script = (
        "import json\nfrom executorch.extension.pybindings import portable_lib\n"
        "print(json.dumps(portable_lib._get_operator_names()))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True
    )
    stock = set(json.loads(done.stdout.strip().splitlines()[-1]))
    assert len(stock) > 200
    assert not stock - set(registry("portable").names()) - set(PRIMS)


def test_portable_parameters_are_those_of_the_schemas() -> None:
    from et_vm.kernels.aten.schema import operator
    from et_vm.kernels.registry import parameters_of

    for name in OPERATORS:
        prepare = registry("portable").lookup(name, ())
        assert prepare is not None
        stated = parameters_of(prepare)
        assert stated is not None, name
        ours = [(parameter.name.rstrip("_"), parameter.kinds) for parameter in stated]
        theirs = [(parameter.name, parameter.kinds) for parameter in operator(name).parameters]
        assert ours == theirs, name


def test_torch_has_every_operator() -> None:
    known = set(registry("aten").names())
    assert not set(OPERATORS) - known
    assert torch.is_inference_mode_enabled() is False
