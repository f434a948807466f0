"""Torch as the oracle for kernels: record the aten calls a function makes, replay each through a kernel,
compare.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from factorizations import check_eig, check_eigh, check_qr, check_svd
from support.linspace import integers_between
from torch.utils._python_dispatch import TorchDispatchMode

from et_ops.families import families
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable import load_family
from et_vm.kernels.registry import KernelRegistry, PrepareContext, Scratch
from et_vm.values import Tensor

FACTORY_ARGS = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format"})
TOLERANCES = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float32: (1e-5, 1e-5),
    torch.complex64: (1e-5, 1e-4),
}

SCALAR_TYPES = {
    getattr(torch, member.torch_name): member
    for member in ScalarType
    if isinstance(getattr(torch, member.torch_name, None), torch.dtype)
}
"""The element types that torch and ExecuTorch share."""


FAMILIES = {
    family: sorted(
        name for name, prepare in load_family(family).items() if prepare.__module__.endswith(f".{family}")
    )
    for family in families()
}
"""The portable kernels of each family."""


@functools.cache
def registry(library: str) -> KernelRegistry:
    """The kernels of one library, `portable` or `aten`."""
    return KernelRegistry([importlib.import_module(f"et_vm.kernels.{library}").register])


@dataclass(frozen=True)
class Recorded:
    """One aten call and what torch returned for it."""

    operator: str
    arguments: tuple[object, ...]
    results: tuple[torch.Tensor, ...]

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(map(brief, self.arguments))})"


def brief(value: object) -> str:
    """A short form of an argument, for test output."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list):
        return f"[{', '.join(map(brief, value))}]"
    return repr(value)


def _is_output(argument: torch.Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


@functools.cache
def out_variant(overload: torch._ops.OpOverload) -> tuple[str, tuple[str, ...]] | None:
    """The out variant of a functional (or view) overload as ExecuTorch names it, and its arguments but the
    outputs.
    """
    schema = overload._schema
    if any(_is_output(argument) for argument in schema.arguments):
        return None
    namespace, name = schema.name.split("::")
    wanted = [(argument.name, str(argument.type)) for argument in schema.arguments]
    library = getattr(torch.ops, namespace)
    for candidate in (name, f"{name}_copy"):
        packet = getattr(library, candidate, None)
        for which in packet.overloads() if packet is not None else ():
            arguments = getattr(packet, which)._schema.arguments
            outs = [argument for argument in arguments if _is_output(argument)]
            if not outs or not all(argument.kwarg_only for argument in outs):
                continue
            given = [(a.name, str(a.type)) for a in arguments if not _is_output(a)]
            names = {name for name, _ in given}
            if given == [w for w in wanted if w[0] in names or w[0] not in FACTORY_ARGS]:
                return f"{namespace}::{candidate}.{which}", tuple(name for name, _ in given)
    return None


Keep = Callable[[str, torch.dtype | None], bool]


def bind(
    overload: torch._ops.OpOverload, args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[object, ...]:
    """Copies of the arguments of a call in the order of the operator's out variant."""
    variant = out_variant(overload)
    assert variant is not None, overload
    values: dict[str, object] = {}
    for at, argument in enumerate(overload._schema.arguments):
        if at < len(args):
            values[argument.name] = args[at]
        elif argument.name in kwargs:
            values[argument.name] = kwargs[argument.name]
        else:
            values[argument.name] = argument.default_value
    return tuple(_own(values[name]) for name in variant[1])


def composite(overload: torch._ops.OpOverload, *args: object, **kwargs: object) -> Recorded:
    """A call of an operator that torch takes apart before it could be recorded."""
    variant = out_variant(overload)
    assert variant is not None, overload
    result = overload(*args, **kwargs)
    results = result if isinstance(result, tuple | list) else (result,)
    return Recorded(variant[0], bind(overload, args, kwargs), tuple(_own(r) for r in results))


class Recorder(TorchDispatchMode):
    """Collects the calls that have an out variant; `calls` holds copies of their arguments and results.

    `keep(operator, dtype of its first tensor)` says which are wanted.
    """

    def __init__(self, keep: Keep) -> None:
        super().__init__()
        self.calls: list[Recorded] = []
        self._keep = keep

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        variant = out_variant(func)
        if variant is None or not self._keep(variant[0], first_dtype(args)):
            return func(*args, **kwargs)
        bound = bind(func, args, kwargs)
        result = func(*args, **kwargs)
        results = result if isinstance(result, tuple | list) else (result,)
        if all(isinstance(r, torch.Tensor) for r in results):
            self.calls.append(Recorded(variant[0], bound, tuple(_own(r) for r in results)))
        return result


def first_tensor(arguments: Iterable[object]) -> torch.Tensor | None:
    """The first tensor among `arguments`, lists included."""
    for argument in arguments:
        for value in argument if isinstance(argument, tuple | list) else [argument]:
            if isinstance(value, torch.Tensor):
                return value
    return None


def first_dtype(arguments: Iterable[object]) -> torch.dtype | None:
    """The dtype of the first tensor among `arguments`, lists included."""
    tensor = first_tensor(arguments)
    return None if tensor is None else tensor.dtype


def _own(value: object) -> object:
    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().resolve_neg()
        return value.clone(memory_format=_layout(value))
    if isinstance(value, tuple | list):
        return [_own(item) for item in value]
    return value


def _layout(tensor: torch.Tensor) -> torch.memory_format:
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return torch.channels_last if not tensor.is_contiguous() else torch.contiguous_format
    return torch.contiguous_format


def dim_order(tensor: torch.Tensor) -> tuple[int, ...]:
    """The order of a dense tensor's dimensions in memory, outermost first."""
    return tensor.dim_order() if _layout(tensor) == torch.channels_last else tuple(range(tensor.dim()))


def bytes_of(tensor: torch.Tensor) -> np.ndarray:
    """The elements of a dense tensor as flat bytes, in memory order."""
    physical = tensor.permute(dim_order(tensor)).contiguous()
    return (
        np.array(physical.reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else np.empty(0, np.uint8)
    )


def register_of(tensor: torch.Tensor, *, constant: bool = False) -> Tensor:
    """A tensor register holding a copy of `tensor`."""
    storage = bytes_of(tensor)
    if constant:
        storage.flags.writeable = False
    return Tensor(
        SCALAR_TYPES[tensor.dtype], tuple(tensor.shape), dim_order(tensor), storage=storage, constant=constant
    )


def blank_like(tensor: torch.Tensor) -> Tensor:
    """An output register for a result like `tensor`, filled with a pattern no kernel should leave behind."""
    register = register_of(tensor)
    if register.storage is not None:
        register.storage.fill(0x01 if tensor.dtype == torch.bool else 0xA5)
    return register


def tensor_of(register: Tensor) -> torch.Tensor:
    """The current value of a register as a torch tensor."""
    dtype = getattr(torch, register.scalar_type.torch_name)
    if not register.numel:
        return torch.empty(register.sizes, dtype=dtype)
    flat = np.ascontiguousarray(register.array).reshape(-1).view(np.uint8)
    return torch.from_numpy(flat.copy()).view(dtype).reshape(register.sizes)


def as_argument(value: object, *, constant: bool = False) -> object:
    """`value` as the VM hands it to a kernel."""
    if isinstance(value, torch.Tensor):
        return register_of(value, constant=constant)
    if isinstance(value, tuple | list):
        return [as_argument(item, constant=constant) for item in value]
    if isinstance(value, torch.dtype):
        return int(SCALAR_TYPES[value])
    if isinstance(value, torch.memory_format):
        return {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}[value]
    return value


def run_kernel(library: str, operator: str, arguments: tuple[object, ...], outs: list[object]) -> None:
    """Prepare and execute one call; a list of outputs is passed as one argument where the schema has a
    list.
    """
    kernels = registry(library)
    prepare = kernels.lookup(operator, ())
    assert prepare is not None, operator
    scratch = Scratch()
    with np.errstate(all="ignore"), kernels.guard():
        fn, args = prepare(PrepareContext(operator, scratch=scratch), *arguments, *outs)
        fn(*args)


# What comes out is random, or whatever was in memory: only shape and type are checked.
UNPREDICTABLE = frozenset(
    f"aten::{name}"
    for name in (
        "_standard_gamma.out",
        "bernoulli.Tensor_out",
        "bernoulli.float_out",
        "bernoulli.out",
        "binomial.out",
        "cauchy.out",
        "empty.out",
        "empty_like.out",
        "empty_permuted.out",
        "empty_strided.out",
        "exponential.out",
        "geometric.out",
        "log_normal.out",
        "multinomial.out",
        "new_empty.out",
        "new_empty_strided.out",
        "normal.Tensor_Tensor_out",
        "normal.Tensor_float_out",
        "normal.float_Tensor_out",
        "normal.float_float_out",
        "normal.out",
        "poisson.out",
        "rand.out",
        "rand_like.out",
        "randint.low_out",
        "randint.out",
        "randint_like.Tensor_out",
        "randint_like.low_dtype_out",
        "randint_like.out",
        "randn.out",
        "randn_like.out",
        "random.from_out",
        "random.out",
        "random.to_out",
        "randperm.out",
        "uniform.out",
    )
)

# Float32 weights or long sums in another order: as close as two correct results come.
_LOOSE = {
    "aten::_upsample_bicubic2d_aa.out": (1e-4, 1e-4),
    "aten::_upsample_bilinear2d_aa.out": (1e-4, 1e-4),
    "aten::convolution.out": (1e-4, 1e-4),
    "aten::convolution_backward.out": (1e-4, 1e-4),
    "aten::cumprod.out": (1e-4, 1e-5),
    # Torch takes the sine of pi x in float32: near a pole at x its square has an error of 1e-7 x / distance.
    "aten::polygamma.out": (1e-4, 1e-4),
    # The error of an arc cosine times the degree.
    **{
        f"aten::special_{kind}chebyshev_polynomial_{letter}.{which}": (1e-4, 1e-4)
        for kind in ("", "shifted_")
        for letter in "tuvw"
        for which in ("out", "n_scalar_out", "x_scalar_out")
    },
}

# Powers of matrices are only as exact as their largest elements.
_AS_THE_LARGEST = frozenset({"aten::linalg_matrix_exp.out"})

# How far torch is from the true values in float64: beyond 5 for Bessel's functions, below -2 for Airy's.
_TORCH_IS_OFF = {
    "aten::special_airy_ai.out": 3e-6,
    "aten::special_bessel_j0.out": 1e-6,
    "aten::special_bessel_j1.out": 1e-6,
    "aten::special_bessel_y0.out": 1e-6,
    "aten::special_bessel_y1.out": 1e-6,
}

# Torch computes these in 16-bit arithmetic throughout, the portable kernels in float32 with one rounding at the
# end. Those are held against torch's result from the same numbers in float64, rounded once: closer than torch is.
_ROUNDED_OFTEN = frozenset(
    {
        "aten::_adaptive_avg_pool2d.out",
        "aten::_adaptive_avg_pool3d.out",
        "aten::_cdist_forward.out",
        "aten::_upsample_bicubic2d_aa.out",
        "aten::_upsample_bilinear2d_aa.out",
        "aten::convolution.out",
        "aten::cumprod.out",
        "aten::index_put.out",
        "aten::index_reduce.out",
        "aten::linalg_matrix_exp.out",
        "aten::max_pool2d_with_indices_backward.grad_input",
        "aten::put.out",
        "aten::scatter_add.out",
        "aten::scatter.reduce_out",
        "aten::scatter.value_reduce_out",
        "aten::scatter_reduce.two_out",
        "aten::segment_reduce.out",
    }
)
_SIXTEEN_BITS = (torch.float16, torch.bfloat16)


def _in_double(recorded: Recorded) -> Recorded:
    """The call with the results that torch has in float64, rounded to their types."""
    from et_vm.kernels.aten.schema import functional, operator

    def widened(value: object) -> object:
        if isinstance(value, list):
            return [widened(item) for item in value]
        return value.double() if isinstance(value, torch.Tensor) and value.dtype in _SIXTEEN_BITS else value

    overload = functional(recorded.operator)
    assert overload is not None
    names = [argument.name for argument in operator(recorded.operator).inputs]
    given = dict(zip(names, map(widened, recorded.arguments), strict=True))
    result = overload(**given)
    results = result if isinstance(result, tuple | list) else (result,)
    kinds = [expected.dtype for expected in recorded.results]
    return Recorded(
        recorded.operator, recorded.arguments, tuple(r.to(k) for r, k in zip(results, kinds, strict=True))
    )


# Torch does not say which of equal elements comes first.
_UNSTABLE = frozenset({"aten::topk.values", "aten::sort.values"})

# Torch does not say which of equal elements the index is of.
_ANY_OF_EQUALS = {
    "aten::kthvalue.values": 2,
    "aten::median.dim_values": 1,
    "aten::mode.values": 1,
    "aten::nanmedian.dim_values": 1,
}
"""The position of the argument that is the dimension."""


def _exact_linspace(recorded: Recorded) -> Recorded:
    """The call with exact results, if they are integers."""
    (result,) = recorded.results
    if result.is_floating_point() or result.is_complex():
        return recorded
    start, end, steps = recorded.arguments
    return Recorded(
        recorded.operator, recorded.arguments, (integers_between(start, end, steps, result.dtype),)
    )


def check(library: str, recorded: Recorded, *, constants: bool = False, over: int | None = None) -> None:
    """Replay `recorded` through `library` and compare every result with torch's.

    `constants` makes the inputs read-only; `over` puts the output into the memory of that argument.
    """
    low = any(result.dtype in _SIXTEEN_BITS for result in recorded.results)
    if low and library == "portable" and recorded.operator in _ROUNDED_OFTEN:
        recorded = _in_double(recorded)
    if library == "portable" and recorded.operator == "aten::linspace.out":
        recorded = _exact_linspace(recorded)
    outs = [blank_like(result) for result in recorded.results]
    arguments = tuple(as_argument(argument, constant=constants) for argument in recorded.arguments)
    if over is not None:
        shared = arguments[over]
        assert isinstance(shared, Tensor)
        assert shared.storage is not None
        outs[0].bind(shared.storage)
    grouped: list[object] = [outs] if returns_list(recorded.operator) else list(outs)
    run_kernel(library, recorded.operator, arguments, grouped)
    if recorded.operator in _FREE_PHASES and all(result.numel() for result in recorded.results):
        _FREE_PHASES[recorded.operator](recorded, [tensor_of(out) for out in outs])
        return
    for at, (expected, out) in enumerate(zip(recorded.results, outs, strict=True)):
        got = tensor_of(out)
        if recorded.operator in UNPREDICTABLE:
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            continue
        if recorded.operator in _UNSTABLE and at == 1:
            _check_order(recorded, got)
            continue
        if recorded.operator in _ANY_OF_EQUALS and at == 1:
            _check_choice(recorded, got)
            continue
        rtol, atol = TOLERANCES.get(expected.dtype, (1e-7, 1e-7))
        if expected.dtype == torch.float32:
            rtol, atol = _LOOSE.get(recorded.operator, (rtol, atol))
        if recorded.operator in _AS_THE_LARGEST and expected.numel():
            atol *= max(1.0, float(expected.abs().nan_to_num(0, 0, 0).max()))
        if expected.dtype == torch.float64:
            atol = max(atol, _TORCH_IS_OFF.get(recorded.operator, 0.0))
        if expected.dtype in (torch.float16, torch.bfloat16) and expected.numel():
            # Sums of terms that cancel are only as exact as the largest of them.
            atol *= max(1.0, float(expected.abs().nan_to_num(0, 0, 0).max()))
        torch.testing.assert_close(
            got,
            expected.contiguous(),
            rtol=rtol,
            atol=atol,
            equal_nan=True,
            msg=lambda text, at=at: f"{recorded}: result {at}: {text}",
        )


def _check_order(recorded: Recorded, indices: torch.Tensor) -> None:
    """The indices name the values, each once."""
    source, values = recorded.arguments[0], recorded.results[0]
    assert isinstance(source, torch.Tensor)
    dim = recorded.arguments[2 if recorded.operator == "aten::topk.values" else 1]
    assert isinstance(dim, int)
    if source.dim():
        torch.testing.assert_close(source.gather(dim, indices), values, rtol=0, atol=0, equal_nan=True)
        ordered = indices.sort(dim).values
        assert not (ordered.diff(dim=dim) == 0).any()


def _check_choice(recorded: Recorded, indices: torch.Tensor) -> None:
    """The indices, of the shape that torch gives them, name the values."""
    source, values = recorded.arguments[0], recorded.results[0]
    assert isinstance(source, torch.Tensor)
    dim = recorded.arguments[_ANY_OF_EQUALS[recorded.operator]]
    assert isinstance(dim, int)
    assert indices.shape == values.shape
    if source.dim():
        kept = values.dim() == source.dim()
        places, wanted = (indices, values) if kept else (indices.unsqueeze(dim), values.unsqueeze(dim))
        torch.testing.assert_close(source.gather(dim, places), wanted, rtol=0, atol=0, equal_nan=True)


def _matrix(recorded: Recorded) -> torch.Tensor:
    matrix = recorded.arguments[0]
    assert isinstance(matrix, torch.Tensor)
    return matrix


# LAPACK leaves open by which sign or phase vectors are multiplied, and in what order eigenvalues come.
_FREE_PHASES: dict[str, Callable[[Recorded, list[torch.Tensor]], None]] = {
    "aten::_linalg_svd.U": lambda call, got: check_svd(_matrix(call), got, call.results),
    "aten::_linalg_eigh.eigenvalues": lambda call, got: check_eigh(
        _matrix(call), str(call.arguments[1]), got, call.results
    ),
    "aten::linalg_eig.out": lambda call, got: check_eig(_matrix(call), got, call.results),
    "aten::linalg_qr.out": lambda call, got: check_qr(_matrix(call), got, call.results),
}


def channels_last_form(recorded: Recorded) -> Recorded | None:
    """The same call with its images laid out channels last, or None when it has none."""

    def turned(value: object) -> object:
        if isinstance(value, torch.Tensor) and value.dim() == 4:
            return value.to(memory_format=torch.channels_last)
        return [turned(item) for item in value] if isinstance(value, list) else value

    images = [value for value in recorded.results if value.dim() == 4 and min(value.shape) > 1]
    # The four dimensions of volumes and of batches of matrices are not those of an image.
    if not images or any(part in recorded.operator for part in ("as_strided", "3d", "linalg", "lu_unpack")):
        return None
    arguments = tuple(turned(argument) for argument in recorded.arguments)
    results = tuple(turned(result) for result in recorded.results)
    # An operand with one channel has both layouts, and no kernel is given another one than that of the result.
    operand = first_tensor(arguments)
    if operand is not None and operand.dim() == 4 and dim_order(operand) == (0, 1, 2, 3):
        return None
    return Recorded(recorded.operator, arguments, results)  # type: ignore[arg-type]


def in_place_forms(recorded: Recorded) -> list[int]:
    """The arguments whose memory the (single) result fits exactly."""
    if len(recorded.results) != 1:
        return []
    result = recorded.results[0]
    return [
        at
        for at, argument in enumerate(recorded.arguments)
        if isinstance(argument, torch.Tensor)
        and (argument.dtype, argument.shape) == (result.dtype, result.shape)
        and argument.numel()
    ]


@functools.cache
def returns_list(operator: str) -> bool:
    """Whether the out variant writes a list of tensors (split, unbind)."""
    namespace, _, rest = operator.partition("::")
    if namespace != "aten":
        return False
    name, _, overload = rest.partition(".")
    schema = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")._schema
    return any(_is_output(argument) and "List" in str(argument.type) for argument in schema.arguments)


def record(function: Callable[[], object], keep: Keep = lambda operator, dtype: True) -> list[Recorded]:
    """The aten calls of `function` that have an out variant and are to be kept."""
    recorder = Recorder(keep)
    with torch.no_grad(), recorder:
        function()
    return recorder.calls
