"""Quantization of the weights of modules: tables by rows, and linear layers in groups of 4 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from et_ir.quantization.graphs import kept_state
from et_ir.quantization.modes import QuantizationError, QuantizationMode
from et_ir.quantization.operators import is_kept
from et_ir.quantization.quantizer import Unquantized
from et_ir.quantization.rounding import compensate, search_scales
from et_ir.quantization.rows import new_stored, release_memory
from et_ir.quantization.torchao_weights import quantized_groups, quantized_rows

__all__ = ["InputMoments", "input_moments", "other_readers", "quantize_weights"]


class InputMoments:
    """`inputs.T @ inputs` f64 of a layer: the inputs themselves, as long as they take fewer bytes. What is large is in
    temporary files: together, products of all layers would be twice as large as square weights.
    """

    def __init__(self) -> None:
        self._inputs: list[torch.Tensor] = []
        self._sum: torch.Tensor | None = None

    def add(self, inputs: torch.Tensor) -> None:
        """Take account of inputs `[..., columns]`."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        kept = sum(one.nbytes for one in self._inputs) + rows.nbytes
        if self._sum is None and kept <= rows.shape[1] ** 2 * torch.float64.itemsize:
            self._inputs.append(_kept(rows))
            return
        before = self.total() if self._inputs or self._sum is not None else None
        self._sum = _kept(_added(before, rows))
        self._inputs = []

    def total(self) -> torch.Tensor:
        """The sum `[columns, columns]` over the inputs so far, of which there are some."""
        total = self._sum
        for rows in self._inputs:
            total = _added(total, rows)
        assert total is not None
        return total


def _added(before: torch.Tensor | None, rows: torch.Tensor) -> torch.Tensor:
    x = rows.double()
    return x.T @ x if before is None else before + x.T @ x


def _kept(tensor: torch.Tensor) -> torch.Tensor:
    """A copy to be read later."""
    found = new_stored(tensor.dtype, tensor.shape)
    found.copy_(tensor)
    release_memory(found)
    return found


def input_moments(
    module: nn.Module, batches: list[tuple[Any, ...]], kwargs: dict[str, Any]
) -> dict[str, InputMoments]:
    """Those of the linear layers that are called, by their paths; empty without batches."""
    found: dict[str, InputMoments] = {}

    def observer(name: str) -> Callable[..., None]:
        def observe(_: nn.Module, arguments: tuple[Any, ...], result: object) -> None:
            found.setdefault(name, InputMoments()).add(arguments[0])

        return observe

    layers = cast("Iterable[tuple[str, nn.Module]]", module.named_modules())
    hooks = [
        one.register_forward_hook(observer(name))
        for name, one in layers
        if batches and isinstance(one, nn.Linear)
    ]
    try:
        for number, batch in enumerate(batches):
            try:
                module(*batch, **kwargs)
            except Exception as error:
                first = str(error).strip().partition("\n")[0]
                raise QuantizationError(f"calibration data {number}: the module fails: {first}") from error
    finally:
        for hook in hooks:
            hook.remove()
    return found


_READERS: Final = (torch.nn.functional.linear, torch.nn.functional.embedding)
"""The functions that take a quantized weight, as the second argument."""


class _WeightReaders(TorchFunctionMode):
    """Notes what reads weights otherwise than a layer or a table does."""

    def __init__(self, weights: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self._weights = {id(weight) for weight in weights}
        self.found: dict[int, str] = {}
        """The name of a function by the weight that it reads."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(
            isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(result)
        ):  # not a size, or a type
            given = (args[:1], args[2:], kwargs) if func in _READERS else (args, kwargs)
            for leaf in pytree.tree_leaves(given):
                if id(leaf) in self._weights:
                    self.found.setdefault(id(leaf), getattr(func, "__name__", str(func)))
        return result


def other_readers(module: nn.Module, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
    """What else reads the weights of layers and tables, by the paths of these."""
    layers = _tables_and_layers(module)
    with kept_state(module), _WeightReaders(one.weight for _, one in layers) as readers:
        module(*inputs, **kwargs)
    return {name: readers.found[id(one.weight)] for name, one in layers if id(one.weight) in readers.found}


def quantize_weights(
    module: nn.Module,
    mode: QuantizationMode,
    keep_float: Sequence[str],
    moments: dict[str, InputMoments],
    read: Mapping[str, str],
) -> tuple[bool, list[Unquantized]]:
    """Replace the rows of tables by 8 or 4 bits and, where the mode says so, linear layers by groups of 4 bits.

    `moments` are those of the inputs of layers, and used up; `read` is what else reads a weight; both are by paths.
    Returns whether there are any, and the layers and tables that stay in floats. Raises `QuantizationError`.
    """
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
    )
    from torchao.utils import (
        unwrap_tensor_subclass,  # pyright: ignore[reportUnknownVariableType]  (untyped)
    )

    bits_4: Any = cast(Any, torch).int4
    left: list[Unquantized] = []
    is_changed = False
    layers = cast("list[tuple[str, Any]]", _tables_and_layers(module))
    kinds: tuple[type[nn.Module], ...] = (nn.Linear, nn.Embedding)
    for kind in kinds:
        if kind is nn.Linear and mode.name != "8da4w":
            continue
        for name, one in layers:
            if not isinstance(one, kind):
                continue
            reason = _why_not(one, name, mode, keep_float, read)
            if reason:
                left.append(Unquantized(type(one).__name__, name, "", reason))
                continue
            weight = one.weight.detach()
            if kind is nn.Linear:
                config: Any = Int8DynamicActivationIntxWeightConfig(
                    weight_dtype=bits_4, weight_granularity=PerGroup(mode.group)
                )
            elif mode.embedding == 4:
                config = IntxWeightOnlyConfig(bits_4, PerGroup(mode.group))
            else:
                # Rows of a table are looked up, not multiplied: 8 bits each with a scale, unless the mode says else.
                config = IntxWeightOnlyConfig(torch.int8, PerAxis(0))
            if getattr(config, "weight_dtype", None) is bits_4 and name in moments:
                rounded = compensate(weight, mode.group, _finite(moments.pop(name).total(), name))
                made = quantized_groups(weight, config, kind, *rounded)
            elif getattr(config, "weight_dtype", None) is bits_4:
                made = quantized_groups(weight, config, kind, *search_scales(weight, mode.group))
            else:
                made = quantized_rows(weight, config, kind).weight()
            one.weight = nn.Parameter(made, requires_grad=False)
            is_changed = True
    if is_changed:
        unwrap_tensor_subclass(
            nn.ModuleList([module])
        )  # it unwraps what is in a module, which may be a layer
    return is_changed, left


def _finite(moments: torch.Tensor, name: str) -> torch.Tensor:
    if not moments.isfinite().all():
        raise QuantizationError(f"calibration data: NaN or infinity in the inputs of '{name}'")
    return moments


def _why_not(
    one: nn.Module, name: str, mode: QuantizationMode, keep_float: Sequence[str], read: Mapping[str, str]
) -> str:
    """Why a layer or a table stays in floats; empty if it does not."""
    if is_kept(name, keep_float):
        return "left in floats by configuration"
    if name in read:
        return f"its weight is read by {read[name]} too"
    if "weight" not in dict(one.named_parameters(recurse=False)):
        return "its weight is computed"
    return mode.why_not(one)


def _tables_and_layers(module: nn.Module) -> list[tuple[str, nn.Linear | nn.Embedding]]:
    modules = cast("Iterable[tuple[str, nn.Module]]", module.named_modules())
    return [(name, one) for name, one in modules if isinstance(one, nn.Linear | nn.Embedding)]
