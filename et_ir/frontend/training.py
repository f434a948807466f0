"""Exported programs with gradients: which parameters are trained, and why a program cannot be.

    program = torch.export.export(with_loss(net, nn.functional.cross_entropy), (x, y))
    joint = joint_program(program, ["head.*"])

torch makes the joint graph of forward and backward. Where it cannot, the graph is executed once more on fake tensors,
node by node, which tells the operator and its source line.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from types import MethodType
from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.export.experimental import (
    _export_forward_backward,  # pyright: ignore[reportPrivateUsage]  (upstream's way to a joint graph)
)
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from et_ir.frontend.sources import NodeLocations
from et_ir.locations import place_of
from et_schema.diagnostics import Diagnostic, Report, did_you_mean
from et_schema.wording import in_words

__all__ = ["TrainingError", "joint_program", "trained_parameters", "with_loss"]

_LISTED: Final = 4
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_PREFIX: Final = re.compile(r"Backward\d*$")


class TrainingError(Report):
    """A program has no gradients, or not those of all its trained parameters: `diagnostics` say why and where."""

    def __init__(self, *diagnostics: Diagnostic):
        super().__init__("the program cannot be trained", diagnostics)


def with_loss(module: nn.Module, loss: Callable[..., Tensor] | None = None) -> nn.Module:
    """A module to export for training, with the parameters of `module`, under their names: it returns the loss and the
    outputs, detached.

    With a function for the `loss`, as `nn.functional.cross_entropy`, inputs are those that `module.forward` requires,
    then those that the function requires after the output of the module. Without one, the first output is the loss.

    Raises `TrainingError` for functions that do not say which inputs they require.
    """
    trained = copy.copy(module)
    forward: Callable[..., Any] = module.forward
    if isinstance(forward, MethodType) and forward.__self__ is module:
        forward = MethodType(forward.__func__, trained)
    if loss is None:

        @functools.wraps(forward)
        def first(*args: Any, **kwargs: Any) -> Any:
            leaves, spec = pytree.tree_flatten(forward(*args, **kwargs))
            return pytree.tree_unflatten([*leaves[:1], *map(_detached, leaves[1:])], spec)

        trained.forward = first
        return trained
    inputs, targets = _required(forward), _required(loss)[1:]

    def computed(*args: Any) -> tuple[Tensor, Any]:
        found = forward(*args[: len(inputs)])
        return loss(found, *args[len(inputs) :]), pytree.tree_map(_detached, found)

    names = [*inputs, *(f"target_{name}" if name in inputs else name for name in targets)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    computed.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]  (what `inspect` reads)
    trained.forward = computed
    return trained


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _required(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments that a function requires."""
    name = getattr(function, "__qualname__", type(function).__name__)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # of what is written in C
        parameters = None
    if parameters is None or any(one.kind is one.VAR_POSITIONAL for one in parameters):
        raise TrainingError(
            Diagnostic(
                "does not say how many inputs it takes",
                subject=f"the function {name}",
                fix="name its inputs, or return the loss from the module, as its first output",
            )
        )
    return [one.name for one in parameters if one.kind in _POSITIONAL and one.default is one.empty]


def joint_program(program: ExportedProgram, trainable: Sequence[str] = ()) -> ExportedProgram:
    """The program that returns its outputs, the first of which is the loss, and the gradients of the loss by each
    trained parameter, in the parameter's shape and element type.

    `trainable` are patterns of parameters' names, as `trained_parameters` has them; the gradients of others are not
    computed. The program stays as it is.

    Raises `ValueError` for a pattern that matches nothing, and `TrainingError` if there is nothing to train, the loss
    is not one number, an operator has no derivative, memory is overwritten that gradients need, or a parameter that is
    trained is not used for the loss.
    """
    names = trained_parameters(program, trainable)
    if not names:
        frozen = len(list(program.named_parameters()))
        has = (
            f"has {in_words(frozen, 'parameter')}, none of which requires"
            if frozen
            else "has no parameters, to require"
        )
        raise TrainingError(
            Diagnostic(
                f"the program {has} gradients",
                fix="parameter.requires_grad_() before the export" if frozen else "make tensors nn.Parameter",
            )
        )
    with _requiring(program, names), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of torch's own use of what it has deprecated
        warnings.filterwarnings("ignore", "The tensor attributes .* were assigned during export")
        warnings.filterwarnings(
            "ignore", "(?s)Error detected in .*Traceback of forward call"
        )  # said by the reason
        try:
            return _export_forward_backward(program)
        except Exception as error:
            raise TrainingError(_Trial(program).reason(error)) from error


def trained_parameters(program: ExportedProgram, trainable: Sequence[str] = ()) -> list[str]:
    """The names of parameters that require gradients and match one of the patterns, all if there are none: `fc.weight`
    is a parameter, `head` a module with those in it, and `*` stands for any text.

    Raises `ValueError` for a pattern that matches no such parameter.
    """
    parameters = dict(program.named_parameters())
    chosen = {name for name, value in parameters.items() if value.requires_grad}
    found: set[str] = set() if trainable else chosen
    for pattern in trainable:
        matched = [name for name in parameters if _matches(name, pattern)]
        if not matched:
            parts = [name.split(".") for name in parameters]
            known = dict.fromkeys(".".join(one[:end]) for one in parts for end in range(1, len(one) + 1))
            near = did_you_mean(pattern, known)
            some = f"{', '.join(list(parameters)[:_LISTED])}{', …' if len(parameters) > _LISTED else ''}"
            raise ValueError(f"no parameter matches '{pattern}'{near or f'; there are {some or None}'}")
        if not chosen.intersection(matched):
            name = matched[0]
            type_ = parameters[name].dtype
            why = (
                f"is {str(type_).removeprefix('torch.')}: gradients are those of floating-point parameters"
                if not type_.is_floating_point
                else "does not require gradients: parameter.requires_grad_() before the export"
            )
            raise ValueError(f"'{pattern}': the parameter {name} {why}")
        found |= chosen.intersection(matched)
    return [name for name in parameters if name in found]


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")


def _placeholders(program: ExportedProgram) -> Iterator[tuple[str | None, Node]]:
    """The placeholders of the graph, with the names of those that are parameters."""
    names = program.graph_signature.inputs_to_parameters
    for node in program.graph.nodes:
        if node.op == "placeholder":
            yield names.get(node.name), node


@contextmanager
def _requiring(program: ExportedProgram, names: Sequence[str]) -> Generator[None]:
    """The program with the fake tensors of these parameters alone requiring gradients."""
    fakes = [(node.meta["val"], name in names) for name, node in _placeholders(program) if name is not None]
    before = [fake.requires_grad for fake, _ in fakes]
    for fake, required in fakes:
        fake.requires_grad_(required)
    try:
        yield
    finally:
        for (fake, _), required in zip(fakes, before, strict=True):
            fake.requires_grad_(required)


class _Trial(Interpreter):
    """An execution of a program's graph on fake tensors, to find what torch does not differentiate, and where."""

    def __init__(self, program: ExportedProgram):
        super().__init__(program.graph_module, garbage_collect_values=False)
        self._program = program
        self._locations = NodeLocations(program.graph_module)
        self._node: Node | None = None
        self._parameters: dict[str, Tensor] = {}
        self._written: list[tuple[Node, Tensor]] = []
        self._found: Diagnostic | None = None

    def reason(self, error: Exception) -> Diagnostic:
        """What stands in the way; `error` is what torch has to say."""
        inputs: list[Any] = []
        mode: Any = None
        for name, node in _placeholders(self._program):
            value = node.meta["val"]
            if isinstance(value, FakeTensor):
                mode = mode or value.fake_mode
                value = value.detach().requires_grad_(value.requires_grad)
                if name is not None:
                    self._parameters[name] = value
            inputs.append(value)
        try:
            with mode, torch.enable_grad():
                outputs = self.run(*inputs)
                return self._found or self._reason_of_loss(outputs[0]) or self._other(error)
        except Exception as failure:
            return self._found or self._reason_of_failure(failure)

    def run_node(self, n: Node) -> Any:
        self._node = n
        versions = {name: value._version for name, value in self._parameters.items()}
        if _writes(n):
            self._written += [
                (n, self.env[argument]) for argument in n.args[:1] if isinstance(argument, Node)
            ]
        result = super().run_node(n)
        for name, value in self._parameters.items():
            if value.requires_grad and value._version != versions[name] and self._found is None:
                self._found = self._at(
                    self._writer_in(n),
                    f"writes to the parameter {name}, which is trained",
                    "update parameters outside of forward, or make it a buffer",
                )
        return result

    def _writer_in(self, node: Node) -> Node:
        """The node that writes, where a node executes other graphs, as `torch.no_grad()` does."""
        called = [
            self.submodules.get(str(one.target)) for one in node.all_input_nodes if one.op == "get_attr"
        ]
        graphs = [module.graph for module in called if isinstance(module, GraphModule)]
        return next((inner for graph in graphs for inner in graph.nodes if _writes(inner)), node)

    def _reason_of_loss(self, loss: Any) -> Diagnostic | None:
        output = self._program.graph.output_node()
        node = cast("Sequence[Any]", output.args[0])[0]
        node = node if isinstance(node, Node) else None
        if not isinstance(loss, Tensor):
            return self._at(node, f"the loss is {loss!r}, not a tensor", "return the loss first")
        if not loss.requires_grad:
            return self._at(
                node,
                "the loss, which is the first output, does not depend on a trained parameter by operators that have a "
                "derivative",
                "return the loss first; detach(), torch.no_grad() and integers end gradients",
            )
        if loss.numel() != 1:
            shape = "x".join(map(str, loss.shape))
            return self._at(
                node,
                f"the loss, which is the first output, is a tensor of {shape}, not one number",
                "return its mean() or sum()",
            )
        trained = {name: value for name, value in self._parameters.items() if value.requires_grad}
        gradients = cast(
            "Sequence[Tensor | None]", torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
        )
        unused = [name for name, gradient in zip(trained, gradients, strict=True) if gradient is None]
        if not unused:
            return None
        names = f"{', '.join(unused[:_LISTED])}{', …' if len(unused) > _LISTED else ''}"
        parameters = f"the parameter{'s' if len(unused) > 1 else ''} {names}"
        return Diagnostic(
            f"the loss does not depend on {parameters}",
            fix="train only others, or parameter.requires_grad_(False) before the export",
        )

    def _reason_of_failure(self, failure: Exception) -> Diagnostic:
        text = str(failure)
        derivative = re.search(r"derivative for (\w+::\w+) is not implemented", text)
        if derivative is not None:
            nodes = [node for node in self._program.graph.nodes if _operator(node) == derivative[1]]
            return self._at(
                nodes[0] if nodes else None,
                "the operator has no derivative",
                "compute with others, or detach() its operands where no gradient is wanted",
                derivative[1],
            )
        if "leaf Variable that requires grad" in text:
            return self._at(
                self._node,
                "writes to a parameter that is trained",
                "compute a new tensor: x = x + 1 for x += 1",
            )
        saved = re.search(
            r"modified by an inplace operation: \[[^\]]*\]*\](?:, which is output \d+ of (\w+))?", text
        )
        if saved is not None:
            return self._at(
                self._writer_of(saved[1] or ""),
                "overwrites values that gradients are computed from",
                "compute a new tensor: x = x + 1 for x += 1",
            )
        return self._other(failure)

    def _writer_of(self, saved: str) -> Node | None:
        """The last node that writes to the memory of a result of an operator, which is named as autograd does."""
        wanted = _PREFIX.sub("", saved).lower()
        results = {
            _storage(value)
            for node, value in self.env.items()
            if isinstance(value, Tensor) and _operator(node).rpartition("::")[2].replace("_", "") == wanted
        }
        nodes = [node for node, value in self._written if _storage(value) in results]
        return nodes[-1] if nodes else self._written[-1][0] if self._written else None

    def _other(self, error: Exception) -> Diagnostic:
        text = str(error).strip().partition("\n")[0]
        return Diagnostic(
            f"torch makes no joint graph of it: {type(error).__name__}: {text}",
            fix="torch.export.experimental._export_forward_backward(program) is what fails",
        )

    def _at(self, node: Node | None, message: str, fix: str, subject: str = "") -> Diagnostic:
        place = None if node is None else place_of(self._locations.locate(node))
        writes = node is not None and message.startswith(("writes", "overwrites"))
        return Diagnostic(
            message, subject=subject or (_operator(node) if writes and node else ""), fix=fix, at=place
        )


def _writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def _storage(value: Tensor) -> int:
    storage: Any = value.untyped_storage()  # of a fake tensor, which has no address
    return storage._cdata


def _operator(node: Node) -> str:
    """The operator of a node, without its overload."""
    schema = getattr(node.target, "_schema", None)
    return "" if schema is None else str(schema.name)
