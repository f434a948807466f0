"""Finding the program that a command line names: a factory in Python, an exported program, a text.

A factory returns `module, example_args`, `module, example_args, dynamic_shapes`, an `ExportedProgram` or the `module()`
of one, or a dict of method names to such.
`example_args` is a tuple of positional arguments, or `(args, kwargs)` with a dict last. A number, a string or a tensor
in the place of such a tuple, or a list or dict of them, is a method without inputs that returns it.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import io
import logging
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from linecache import getline
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from et_schema.diagnostics import near_names
from et_schema.file_kinds import FileKind, kind_of
from et_schema.user_code import user_place
from et_schema.wording import in_words
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.messages import print_message, running_command
from et_tools.near_files import missing_file_hint

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

    from et_tools.compile_training import Training

__all__ = [
    "ProgramError",
    "Transformation",
    "attribute_of",
    "export_factory",
    "factories_of",
    "load_pt2",
    "not_a_model",
    "quiet_torch",
    "run_example",
    "run_program",
    "told",
    "transformed",
]

SHOWN_LINES = 6
"""Maximum number of lines shown of an exception's message."""


class ProgramError(Exception):
    """The program named on the command line cannot be made: its factory, or its export, failed."""

    exit_code = ExitCode.INVALID_INPUT
    file = ""
    """The message says which file it is about."""


Transformation = Callable[[str, Any, tuple[Any, ...], Any, Any], Any]
"""Takes a method's name, module, positional and keyword arguments, and dynamic shapes; gives another module."""


def export_factory(
    spec: str, transform: Transformation | None = None, training: Training | None = None
) -> tuple[dict[str, ExportedProgram], dict[str, Any]]:
    """Export what `file.py:factory` or `package.module:factory` returns: method names to exported programs, and to what
    constant methods return. `transform` makes the modules that are exported, `training` that of the method that is
    trained, which stays in training mode.

    What the program prints meanwhile goes to stderr. Raises `UsageError` if there is no such file, module or factory,
    `ProgramError` if the factory or the export fails.
    """
    place, _, name = spec.rpartition(":")
    with redirect_stdout(sys.stderr):
        factory = _find_factory(place, name)
        try:
            made = factory()
        except (Exception, SystemExit) as error:
            raise ProgramError(f"the factory {spec} failed: {told(error)}{call_hint(factory)}") from error
        methods = made if isinstance(made, dict) else {"forward": made}
        if not methods:
            raise ProgramError(f"the factory {spec} returned no methods")
        constants = {str(method): value for method, value in methods.items() if _is_constant(value)}
        if len(constants) == len(methods):
            constants = {}
        programs = {method: parts for method, parts in methods.items() if str(method) not in constants}
        # What is trained comes first: for others, modules that are shared are put into evaluation mode.
        order = sorted(programs, key=lambda method: training is None or not training.trains(method))
        exported = {method: _export(method, programs[method], spec, transform, training) for method in order}
        return {str(method): exported[method] for method in programs}, constants


def call_hint(function: Callable[..., Any], *given: Any) -> str:
    """What to append to the message about a function that failed, where it takes other arguments than it is given."""
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        count = in_words(len(given), "argument") if given else "no arguments"
        return f"; it is called with {count}: give others a default"
    except ValueError:  # of what is written in C
        return ""
    return ""


def _is_constant(value: Any) -> bool:
    """Whether a method is one that returns a value: nothing that has to be exported."""
    import torch

    if isinstance(value, list):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(map(_is_constant, value.values()))
    return isinstance(value, int | float | str | torch.Tensor)


def attribute_of(place: str, name: str) -> Callable[..., Any]:
    """A function of the file or module that a factory is in. Raises as `export_factory`."""
    with redirect_stdout(sys.stderr):
        return _find_factory(place, name, "function")


def factories_of(path: str) -> str:
    """The message for a file that is given without a factory: those that it has. Raises as `export_factory`."""
    with redirect_stdout(sys.stderr):
        there = _factories(_import(path))
    return f"{path}: name a factory, {path}:FACTORY; it has {_listed(there) or 'none'}"


def _find_factory(place: str, name: str, kind: str = "factory") -> Callable[..., Any]:
    module = _import(place, name)
    factory = getattr(module, name, None)
    if not callable(factory):
        there = _factories(module) if kind == "factory" else _functions(module)
        raise UsageError(f"{place} has no {kind} '{name}'{_others(there, name)}")
    return factory


def _import(place: str, name: str = "") -> ModuleType:
    path = Path(place) if place.endswith(".py") else None
    if path is None:
        if Path(place).is_file():
            raise UsageError(f"{place}:{name}: {place} is not a Python file: leave out ':{name}'")
        root, module_name = Path.cwd(), place
    else:
        if not path.is_file():
            raise UsageError(f"{place}: {_not_a_file(path)}")
        root, module_name = _dotted(path.resolve())
    # Said once and clearly if it is not installed, before the user's own code asks for it.
    importlib.import_module("torch")
    sys.path.insert(0, str(root))
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if path is None and absent is not None and f"{module_name}.".startswith(f"{absent}."):
            expected = ": expected file.py:factory or package.module:factory" if ":" in place else ""
            raise UsageError(f"no module named '{absent}'{expected}") from None
        if not module_name:
            raise UsageError(
                f"':{name}' has no module: expected file.py:factory or package.module:factory"
            ) from None
        raise ProgramError(f"importing {place} failed: {told(error)}") from error
    if path is not None and not _is_from(module, path):
        raise UsageError(f"{place}: another module is named '{module_name}': rename the file")
    return module


def _not_a_file(path: Path) -> str:
    return "is a folder" if path.is_dir() else f"no such file{missing_file_hint(str(path))}"


def _is_from(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()


def _functions(module: ModuleType) -> list[str]:
    """Functions that the module defines itself."""
    return [
        other
        for other, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not other.startswith("_")
    ]


def _factories(module: ModuleType) -> list[str]:
    """Functions that the module defines itself and that need no arguments."""
    return [
        other
        for other in _functions(module)
        if all(
            p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            for p in inspect.signature(vars(module)[other]).parameters.values()
        )
    ]


def _others(there: Sequence[str], name: str) -> str:
    """Suggested functions."""
    parts = re.split(r"[.,]", name)
    if "," in name and all(part in there for part in parts):
        return "; one factory at a time: for several methods it returns a dict of (module, inputs) by name"
    near = near_names(name, there) or [part for part in parts[:1] if part in there]
    if near:
        return f", did you mean {near[0]}?"
    return f"; it has {_listed(there)}" if there else ""


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:8])}{', …' if len(names) > 8 else ''}"


def _dotted(path: Path) -> tuple[Path, str]:
    """The folder to import a file from and its dotted name: packages are the folders that have an `__init__.py`."""
    parts = [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _export(
    method: str,
    parts: Any,
    spec: str,
    transform: Transformation | None = None,
    training: Training | None = None,
) -> ExportedProgram:
    import torch

    trained = training if training is not None and training.trains(method) else None

    if isinstance(parts, torch.export.ExportedProgram):
        if trained is not None:
            trained.check_exported()
        return parts if transform is None else transformed(method, parts, spec, transform)
    from et_ir.frontend.exported import dynamic_shapes_of, example_inputs_of, in_evaluation, is_exported

    if isinstance(parts, torch.fx.GraphModule) and is_exported(parts):
        parts = (parts, example_inputs_of(parts))
    if not isinstance(parts, tuple) or len(parts) not in (2, 3) or not isinstance(parts[0], torch.nn.Module):
        is_function = inspect.isroutine(parts[0] if isinstance(parts, tuple) and parts else parts)
        raise ProgramError(
            f"the factory {spec} must return (module, example_args[, dynamic_shapes]) or an ExportedProgram for "
            f"'{method}', not {_shape_of(parts)}"
            + ("; make the function the forward of a torch.nn.Module" if is_function else "")
            + _missing_part(parts)
        )
    module, example_args = parts[0], parts[1]
    args, kwargs = example_args, None
    if (
        isinstance(args, tuple)
        and len(args) == 2
        and isinstance(args[0], tuple)
        and isinstance(args[1], dict)
    ):
        args, kwargs = args
    if not isinstance(args, tuple):
        one = "; of one input, (x,)" if isinstance(args, torch.Tensor) else ""
        raise ProgramError(
            f"the factory {spec} must give example_args as a tuple, got {type(args).__name__}{one}"
        )
    shapes = parts[2] if len(parts) == 3 else dynamic_shapes_of(module)
    if trained is not None:
        return _exported(method, trained.with_loss(module), args, kwargs, shapes, spec, transform)
    # Beside a method that is trained, evaluation is what others are for.
    depends = [] if training is not None or is_exported(module) else _mode_readers(module)
    if depends:
        print_message(
            running_command(),
            f"the module of '{method}' is in training mode and is compiled in evaluation mode, which changes "
            f"{', '.join(depends[:4])}{', …' if len(depends) > 4 else ''}: return module.eval() from the factory; to "
            "compile training mode, return torch.export.export(module, example_args), or give its .pt2",
            "warning",
        )
    return _exported(method, in_evaluation(module), args, kwargs, shapes, spec, transform)


def _missing_part(parts: Any) -> str:
    """What a factory lacks that returns a module without inputs, or the class of one."""
    import torch

    if isinstance(parts, torch.nn.Module):
        return "; return it with a tuple of example inputs: (module, (x,))"
    first = parts[0] if isinstance(parts, tuple) and parts else None
    if isinstance(first, type) and issubclass(first, torch.nn.Module):
        return f"; make a module of the class: {first.__name__}(…)"
    return ""


def transformed(
    method: str, program: ExportedProgram, place: str, transform: Transformation
) -> ExportedProgram:
    """The program of what `transform` makes of an exported program's module, with its example inputs and sizes.

    Raises `UsageError` for a program without example inputs, and `ProgramError` if it cannot be exported again.
    """
    from et_ir.frontend.exported import dynamic_shapes_of

    if program.example_inputs is None:
        raise UsageError(f"--quantize: the method '{method}' of {place} has no example inputs to run it on")
    args, kwargs = program.example_inputs
    module = program.module()
    shapes = dynamic_shapes_of(module, program.range_constraints)
    return _exported(method, module, args, kwargs or None, shapes, place, transform)


def _exported(
    method: str,
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Any,
    shapes: Any,
    spec: str,
    transform: Transformation | None,
) -> ExportedProgram:
    import torch

    try:
        with quiet_torch():
            if transform is not None:
                module = transform(method, module, args, kwargs, shapes)
            return torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
    except (ProgramError, UsageError):
        raise
    except Exception as error:
        message = f"{told(error)}{_fix_of(error)}"
        raise ProgramError(f"torch.export cannot export '{method}' of {spec}: {message}") from error


def _mode_readers(module: torch.nn.Module) -> list[str]:
    """Submodules in training mode whose code reads `training`: dropout, batch normalization, …, as `drop (Dropout)`."""
    import torch

    found: list[str] = []
    for name, each in module.named_modules():
        own = [base for base in type(each).__mro__ if base not in torch.nn.Module.__mro__]
        values = (value for base in own for value in vars(base).values())
        if each.training and any(_reads_training(value, set()) for value in values):
            cls = type(each).__name__
            found.append(f"{name} ({cls})" if name else cls)
    return found


def _reads_training(function: object, seen: set[object]) -> bool:
    """Whether a function, one inside of it, or one of the same file that it calls, reads an attribute `training`."""
    if not inspect.isfunction(function) or function in seen:
        return False
    seen.add(function)
    codes = [function.__code__]
    for code in codes:
        if "training" in code.co_names:
            return True
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    called = [function.__globals__.get(name) for code in codes for name in code.co_names]
    return any(
        _reads_training(other, seen)
        for other in called
        if inspect.isfunction(other) and other.__module__ == function.__module__
    )


_FIXES = (
    (
        r"Not all values of (?P<dim>\w+) = L\['(?P<input>\w+)'\]\.size\(\)\[(?P<axis>\d+)\] in the specified range "
        r"(?:.*? <= (?P<most>\d+) )?.*?satisfy the generated guard",
        'torch cannot prove this of the range of Dim("{dim}"): give Dim.AUTO in its place, which takes the ranges that '
        "the program has, and the largest size with --default-bound {input}.{axis}={most}",
    ),
    (
        r"data-dependent[^\n]*\n *assert\b",
        "an assertion depends on the values of a tensor: use torch._check for sizes and numbers, or leave it out",
    ),
    (
        r"specialized integer|data-dependent[^\n]*\n.*\b(range|int|float)\(",
        "a Python number is made of a tensor's value, as by int(x) or range(n): compute with the tensor, loop with "
        "torch.while_loop or torch.scan, or make the number a constant of the module",
    ),
    (
        r"data-dependent|data dependent",
        "a branch depends on the values of a tensor: use torch.cond, which compiles both sides, or torch.where; of a "
        "size that depends on data, state its bounds with torch._check",
    ),
    (
        r"fake impl|fake kernel|fake tensors|Meta' backend|^UnsupportedOperatorException",
        "tell torch the shape and type of the operator's result: @OPERATOR.register_fake, or "
        "torch.library.register_fake('mylib::foo')",
    ),
    (r"\.numpy\(\)", "numpy cannot be exported: compute with torch's functions"),
    (
        r"SymFloat\.__format__|SymInt\.__format__|SymBool\.__format__",
        "the values of tensors are not known while a program is exported: leave out what prints or formats them",
    ),
    (
        r"in output, which is not a known type",
        "return tensors, numbers, strings and None, in tuples, lists and dicts",
    ),
    (
        r"too many positional arguments",
        "give example_args as a tuple with one value for each argument of forward",
    ),
    (
        r"You marked (?P<dim>\w+) as dynamic but your code specialized it",
        "the program works for one size only: compute with x.shape in place of a number, as in "
        "x.reshape(x.shape[0], -1), or leave {dim} out of dynamic_shapes",
    ),
    (
        r"ConstraintViolationError: \d+ not in range",
        "give example inputs whose sizes are in the ranges of their Dims",
    ),
    (
        r"Static shape constraint of (?P<number>\d+) does not match input size",
        'a number in dynamic_shapes is the only size: for a range, give torch.export.Dim("n", max={number})',
    ),
    (
        r"FakeTensorDeviceMismatchError",
        "export on one device: module.cpu(), inputs on the CPU, and tensors that are made in forward with "
        "device=x.device",
    ),
    (r"missing a required argument", "give example_args as (args, kwargs), such as ((x,), {'mask': m})"),
    (
        r"(type|dtype).*\(?(double|Double|float64)|(double|Double|float64).*(type|dtype)",
        "example inputs and parameters have different element types: convert the inputs with x.float(), or the module "
        "with module.double()",
    ),
)
"""Hints, by the exception's class and what torch says, and in the line below its first by the source line that it
is about."""


def _fix_of(error: Exception) -> str:
    file, _, line = user_place(error).partition(" in ")[0].rpartition(":")
    first, *others = str(error).splitlines() or [""]
    source = getline(file, int(line)) if file else ""
    text = "\n".join([f"{type(error).__name__}: {first}", source, *others])
    for pattern, fix in _FIXES:
        found = re.search(pattern, text)
        if found is not None:
            advice = fix
            for name, value in found.groupdict(default="N").items():
                advice = advice.replace(f"{{{name}}}", value)
            return f"\n  fix: {advice}"
    return ""


@contextmanager
def quiet_torch() -> Iterator[None]:
    """Without the graphs and warnings that torch prints while an export fails: the exception says what matters."""
    logging.disable(logging.ERROR)
    try:
        with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _shape_of(parts: Any) -> str:
    if isinstance(parts, tuple):
        return f"a tuple of ({', '.join(type(p).__name__ for p in parts)})"
    return repr(type(parts).__name__)


def told(error: BaseException) -> str:
    """An exception in few lines, with the line of the user's own code it came from."""
    place = user_place(error)
    place = place and f" ({place})"
    name = type(error).__name__
    lines = _paragraph(str(error.msg if isinstance(error, SyntaxError) else error))
    if not lines:
        return f"{name}{place}"
    return "\n  ".join([f"{name}: {lines[0]}{place}", *lines[1:]])


def _paragraph(text: str) -> list[str]:
    """The first paragraph of a message, without what torch adds about its own debugging."""
    lines = text.strip().partition("\n\n")[0].splitlines()[:SHOWN_LINES]
    # Of symbols with values that only torch's own debugging tells apart.
    return [re.split(r" For more information| \(unhinted: ", line)[0].rstrip() for line in lines]


def load_pt2(path: Path) -> ExportedProgram:
    """Load a `.pt2`. Raises `UsageError` if there is no such file, `ProgramError` if it cannot be read as one."""
    if not path.is_file():
        raise UsageError(f"{path}: {_not_a_file(path)}")
    import torch
    import torch.ao.quantization.fx._decomposed  # pyright: ignore[reportUnusedImport]  (operators that it may hold)

    try:
        with quiet_torch():
            return torch.export.load(path)
    except Exception as error:
        unknown = _unknown_operators(path)
        if unknown:
            raise ProgramError(
                f"{path} calls {', '.join(unknown)}, which are not registered: "
                "--load the file or module that defines them"
            ) from error
        kind = kind_of(memoryview(path.read_bytes()))
        if kind is not None and kind.hint and kind.name != "an exported program of PyTorch":
            raise ProgramError(f"{path} is {kind.name}, not an exported program{_hint_of(kind)}") from error
        raise ProgramError(f"{path} is not an exported program: {told(error)}") from error


def _hint_of(kind: FileKind) -> str:
    return f"; {kind.hint}" if kind.hint else ""


def not_a_model(name: str) -> str:
    """The message about a name that is none of a model."""
    expected = "expected file.py:factory, package.module:factory, hf:FOLDER, a .pt2, a .mlir or a .pte"
    path = Path(name)
    kind = kind_of(memoryview(path.read_bytes())) if path.is_file() else None
    if kind is None or kind.is_source:
        return f"{name}: {expected}"
    return f"{name}: {kind.name}{_hint_of(kind)}; {expected}"


def run_example(method: str, program: ExportedProgram) -> tuple[list[Any], list[Any]]:
    """The example inputs of a program and what torch computes from them, flat: numpy arrays and Python values.

    Raises `UsageError` for a program without example inputs, `ProgramError` if torch cannot run it.
    """
    import torch
    from torch.utils._pytree import tree_leaves

    from et_vm.interchange import to_numpy

    def plain(value: Any) -> Any:
        return to_numpy(value.clone()) if isinstance(value, torch.Tensor) else value

    if program.example_inputs is None:
        raise UsageError(f"--bundle: the method {method} has no example inputs")
    arguments, keywords = copy.deepcopy(program.example_inputs)  # the method may write to them
    inputs = [plain(value) for value in tree_leaves((arguments, keywords))]
    try:
        with torch.no_grad(), quiet_torch():
            outputs = [plain(value) for value in tree_leaves(program.module()(*arguments, **keywords))]
    except Exception as error:
        raise ProgramError(
            f"torch cannot run the method {method} on its example inputs: {told(error)}"
        ) from error
    return inputs, outputs


def run_program(method: str, program: ExportedProgram, inputs: Sequence[Any]) -> list[Any]:
    """The results of torch for inputs, flat: numpy arrays and Python values, as `run_example` gives them.

    Raises `ProgramError` if torch cannot run it, and `UsageError` for inputs of another number.
    """
    import numpy as np
    import torch
    from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

    from et_vm.interchange import to_numpy, to_torch

    if program.example_inputs is None:
        raise UsageError(f"the method {method} has no example inputs, which say how inputs are nested")
    leaves, spec = tree_flatten(program.example_inputs)
    if len(leaves) != len(inputs):
        raise UsageError(f"{method} takes {in_words(len(leaves), 'input')}, got {len(inputs)}")
    given = [to_torch(one.copy()) if isinstance(one, np.ndarray) else one for one in inputs]
    arguments, keywords = tree_unflatten(given, spec)
    try:
        with torch.no_grad(), quiet_torch():
            found = tree_leaves(program.module()(*arguments, **keywords))
    except Exception as error:
        raise ProgramError(f"torch cannot run the method {method} on these inputs: {told(error)}") from error
    return [to_numpy(one) if isinstance(one, torch.Tensor) else one for one in found]


def _unknown_operators(path: Path) -> list[str]:
    """The operators that a saved program calls and torch's registry does not have."""
    import torch

    try:
        with zipfile.ZipFile(path) as archive:
            texts = [archive.read(name) for name in archive.namelist() if name.endswith(".json")]
    except (OSError, zipfile.BadZipFile):
        return []
    called = {
        match.decode() for text in texts for match in re.findall(rb'"torch\.ops\.(\w+\.\w+\.\w+)"', text)
    }
    unknown: list[str] = []
    registry: Any = torch._C  # pyright: ignore[reportPrivateUsage]  (names of a file are no attributes of torch.ops)
    for name in sorted(called):
        namespace, packet, overload = name.split(".")
        known = registry._jit_get_schemas_for_operator(f"{namespace}::{packet}")
        if overload not in {schema.overload_name or "default" for schema in known}:
            unknown.append(f"{namespace}::{packet}" + ("" if overload == "default" else f".{overload}"))
    return unknown
