"""Typed traps for OpInfo's `error_inputs`.

The calls that they come down to, which torch refuses, are refused by kernels.

The samples are run with torch, and the aten call that raises is made again with the kernel of each library, into
outputs that would take any shape, once for each element type the result could have: none of them may go through, or
end in anything but a typed error that says what is wrong.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from kernel_oracle import as_argument, bind, brief, out_variant, registry, returns_list, run_kernel
from sweep.samples import entry_name
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from dev.calls import quick_samples
from et_schema.errors import ExecutorchError, Trap
from et_schema.program import MAX_RANK
from et_schema.scalar_type import ScalarType
from et_vm.values import Tensor, contiguous_strides, element_count

ENTRIES = {entry_name(info): info for info in op_db if info.error_inputs_func is not None}

PYTHON = (TypeError, ValueError, AttributeError, AssertionError)
"""Exceptions of Python code and of the parser of Python arguments, for arguments that no file can have."""

MEMORY = ("written-to tensor",)
"""Torch's messages for overlapping outputs: a memory plan cannot have them, which `verify-executorch` checks."""

COMPOSITES = frozenset(
    [
        "cov",
        "diag",
        "diff",
        "dsplit",
        "fft.fft",
        "fft.fft2",
        "fft.fftn",
        "fft.hfft",
        "fft.hfft2",
        "fft.hfftn",
        "fft.ifft",
        "fft.ifft2",
        "fft.ifftn",
        "fft.ihfft",
        "fft.ihfft2",
        "fft.ihfftn",
        "fft.irfft",
        "fft.irfft2",
        "fft.irfftn",
        "fft.rfft",
        "fft.rfft2",
        "fft.rfftn",
        "fliplr",
        "flipud",
        "gradient",
        "hsplit",
        "isclose",
        "item",
        "movedim",
        "narrow",
        "nn.functional.adaptive_avg_pool1d",
        "nn.functional.adaptive_avg_pool2d",
        "nn.functional.adaptive_avg_pool3d",
        "nn.functional.adaptive_max_pool1d",
        "nn.functional.conv1d",
        "nn.functional.conv2d",
        "nn.functional.conv3d",
        "nn.functional.group_norm",
        "nn.functional.l1_loss",
        "nn.functional.linear_cross_entropy",
        "nn.functional.linear_cross_entropy-chunked",
        "nn.functional.linear_cross_entropy-chunked_none",
        "nn.functional.margin_ranking_loss",
        "nn.functional.max_pool1d",
        "nn.functional.prelu",
        "nn.functional.rms_norm",
        "nn.functional.rrelu",
        "nn.functional.triplet_margin_loss",
        "nn.functional.triplet_margin_with_distance_loss",
        "normal-in_place",
        "sum_to_size",
        "vsplit",
    ]
)
"""Entries with an operator that is made of others and checks its arguments before it comes to those: it is taken apart
when a program is exported, which raises what torch raises, and has no kernel.
"""

UPSTREAM_TAKES = ("aten::cat.out([float32[5, 0, 19, 20], float32[5, 5, 20, 20]], 1)",)
"""Calls that our kernels take though torch does not, as upstream's do: see `test_kernel_refusals`."""

TYPES = {getattr(torch, kind.torch_name): kind for kind in ScalarType if hasattr(torch, kind.torch_name)}

ARGUMENTS = frozenset({"RuntimeError", "IndexError", "TypeError", "ValueError", "NotImplementedError"})


class AnyShape(Tensor):
    """An output that takes whatever shape it is given."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__(TYPES[dtype], (0,), storage=np.empty(0, np.uint8))

    def resize(self, sizes: Any) -> None:
        self.sizes = tuple(sizes)
        self.dim_order = tuple(range(len(self.sizes)))
        self.strides = contiguous_strides(self.sizes, self.dim_order)
        self.storage = np.zeros(element_count(self.sizes) * self.dtype.itemsize, np.uint8)
        self._make_array(self.storage)


@dataclass(frozen=True)
class Refused:
    """A call that torch refuses, in the order of the operator's out variant."""

    operator: str
    arguments: tuple[object, ...]
    why: str

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(map(brief, self.arguments))}): {self.why}"

    @property
    def results(self) -> int:
        """The number of outputs of the call."""
        namespace, _, rest = self.operator.partition("::")
        name, _, overload = rest.partition(".")
        variant = getattr(getattr(getattr(torch.ops, namespace), name), overload)
        return len(
            [a for a in variant._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        )

    @property
    def types(self) -> list[torch.dtype]:
        """The element types that the result could have."""
        tensors = [leaf for leaf in pytree.tree_leaves(self.arguments) if isinstance(leaf, torch.Tensor)]
        own = [tensor.dtype for tensor in tensors]
        promoted = [functools.reduce(torch.promote_types, own)] if own else []
        asked = [leaf for leaf in self.arguments if isinstance(leaf, torch.dtype)]
        return list(dict.fromkeys([*promoted, *own, *asked, torch.int64, torch.float32, torch.bool]))


class _Watch(TorchDispatchMode):
    """Notes the first call of an operator that raises."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: Refused | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return func(*args, **(kwargs or {}))
        except Exception as error:
            overload = _functional(func)
            variant = None if overload is None else out_variant(overload)
            if variant is not None and self.failed is None:
                why = str(error).splitlines()[0] if str(error) else type(error).__name__
                self.failed = Refused(variant[0], bind(overload, args, kwargs or {}), why)
            raise


def _functional(func: Any) -> Any | None:
    """The operator that returns what `func` writes in place: what a program has after export."""
    if not func._schema.is_mutable:
        return func
    name = func._schema.name.removeprefix("aten::").removesuffix("_")
    packet = getattr(torch.ops.aten, name, None)
    return getattr(packet, func._overloadname, None)


@dataclass(frozen=True)
class Unreached:
    """An error that no kernel is called for. One of an `out` that does not fit is among `test_kernels_traps`."""

    kind: str
    why: str


@functools.cache
def outcomes(entry: str) -> list[Refused | Unreached]:
    """The outcomes of an entry's wrong inputs."""
    found: list[Refused | Unreached] = []
    with warnings.catch_warnings(action="ignore"), quick_samples():
        torch.manual_seed(0)
        for wrong in ENTRIES[entry].error_inputs("cpu"):
            sample, watch = wrong.sample_input, _Watch()
            try:
                with torch.no_grad(), watch:
                    ENTRIES[entry].op(sample.input, *sample.args, **sample.kwargs)
            except Exception as error:
                given_out = isinstance(sample.kwargs.get("out"), torch.Tensor | tuple | list)
                found.append(Unreached("out", str(error)) if given_out else _outcome(watch.failed, error))
            else:
                found.append(Unreached("taken", str(wrong.error_regex)))
    return found


def _outcome(failed: Refused | None, error: Exception) -> Refused | Unreached:
    if failed is not None:
        return failed if _expressible(failed) else Unreached("no file has it", failed.why)
    if isinstance(error, PYTHON):
        return Unreached("python", str(error))
    if any(text in str(error) for text in MEMORY):
        return Unreached("memory", str(error))
    return Unreached("composite", str(error))


def refused(entry: str) -> list[Refused]:
    """The calls that the wrong inputs of an entry come down to and that torch refuses."""
    return [outcome for outcome in outcomes(entry) if isinstance(outcome, Refused)]


def _expressible(call: Refused) -> bool:
    """Whether a file can have the call at all: no complex numbers, and tensors of known types and few dimensions."""
    leaves = pytree.tree_leaves(call.arguments)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return not any(isinstance(leaf, complex) for leaf in leaves) and all(
        tensor.dtype in TYPES and tensor.layout == torch.strided and tensor.dim() <= MAX_RANK
        for tensor in tensors
    )


def errors(library: str, call: Refused) -> Iterator[Exception | None]:
    """The kernel's message for each type of the result, None where it accepts the call."""
    for dtype in call.types:
        outs: list[object] = [AnyShape(dtype) for _ in range(call.results)]
        try:
            run_kernel(
                library,
                call.operator,
                tuple(map(as_argument, call.arguments)),
                [outs] if returns_list(call.operator) else outs,
            )
        except Exception as error:
            yield error
        else:
            yield None


def problem(library: str, call: Refused) -> str | None:
    """A description of the wrong answer of a kernel."""
    blamed = False
    for error in errors(library, call):
        if error is None:
            return "goes through"
        if isinstance(error, ExecutorchError):
            text = str(error)
            if isinstance(error, Trap):
                # One of the inputs is named, or several are by what they have: shapes that do not fit each other.
                blamed |= "argument 'out'" not in text and (
                    library == "aten" or "argument '" in text or "do not broadcast" in text
                )
        elif library == "aten" and type(error).__name__ in ARGUMENTS:
            blamed = True  # torch's own, at run time, which the VM makes a trap
        else:
            return f"{type(error).__name__}: {error}"
    return None if blamed else "names no input"


@pytest.mark.sweep
@pytest.mark.parametrize("library", ["portable", "aten"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_kernels_refuse_what_torch_refuses(entry: str, library: str) -> None:
    kernels = registry(library)
    wrong = [
        f"{call}: {found}"
        for call in refused(entry)
        if call.operator in kernels and (found := problem(library, call)) is not None
    ]
    if library == "portable":
        wrong = [line for line in wrong if not line.startswith(UPSTREAM_TAKES)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", UPSTREAM_TAKES)
def test_what_upstream_takes_is_taken(text: str) -> None:
    entry = text.removeprefix("aten::").partition(".")[0]
    (call,) = [call for call in refused(entry) if str(call).startswith(text)]
    assert problem("portable", call) == "goes through"


def test_the_rest_ends_above_kernels() -> None:
    """Nothing drops out unseen: what reaches no kernel is of Python, of memory, or of a composite that is listed."""
    above = {
        entry
        for entry in ENTRIES
        if any(isinstance(outcome, Unreached) and outcome.kind == "composite" for outcome in outcomes(entry))
    }
    assert above == COMPOSITES


def test_there_are_many() -> None:
    kernels = registry("portable")
    assert sum(call.operator in kernels for entry in ENTRIES for call in refused(entry)) > 200


def test_an_output_takes_any_shape() -> None:
    """The outputs refuse nothing themselves: a right call goes through."""
    call = Refused("aten::add.out", (torch.ones(2, 3), torch.ones(3), 1), "")
    assert None in list(errors("portable", call))
    assert problem("portable", call) == "goes through"
