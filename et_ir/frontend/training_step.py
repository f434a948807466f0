"""Training steps: joint programs that also update their parameters, by an optimizer in the same graph.

    step = training_step(joint_program(program), "adamw:lr=1e-3,weight_decay=0.01")

Parameters, moments and the number of steps are state that the program changes, so that planning and delegation treat
the update as the rest of the program.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from et_ir.frontend.optimizers import LEARNING_RATE, OPTIMIZERS, Optimizer, Step, clipped

__all__ = ["training_step"]

_STATE: Final = "optimizer"
"""The module that the names of an optimizer's state are in."""
_STEP: Final = f"{_STATE}.step"


def training_step(joint: ExportedProgram, optimizer: Optimizer | str) -> ExportedProgram:
    """The program that computes the loss and the outputs of a joint program, and goes one step of an optimizer: its
    state is the parameters, which keep their names, `optimizer.step`, f64 without dimensions, and the moments,
    `optimizer.exp_avg.fc.weight` for example, in the shape and element type of the parameter.

    The program stays as it is; parameters are those of its state at the time of the call. Raises `ValueError` for a
    program without gradients, and as `Optimizer` does.
    """
    optimizer = Optimizer.of(optimizer) if isinstance(optimizer, str) else optimizer
    gradients = {
        str(spec.target): spec.arg.name
        for spec in joint.graph_signature.output_specs
        if spec.kind is OutputKind.GRADIENT_TO_PARAMETER
    }
    if not gradients:
        raise ValueError("the program has no gradients: make it by joint_program")
    return _Builder(joint, optimizer, gradients).program()


class _Builder:
    """The graph of a training step, which begins as a copy of the joint graph."""

    def __init__(self, joint: ExportedProgram, optimizer: Optimizer, gradients: Mapping[str, str]) -> None:
        self._joint, self._optimizer = joint, optimizer
        self._kind = OPTIMIZERS[optimizer.name]
        self._options: dict[str, Any] = {**self._kind.options, **optimizer.options}
        self._module: GraphModule = copy.deepcopy(joint.graph_module)
        self._nodes: dict[str, Node] = {}
        for node, copied in zip(joint.graph_module.graph.nodes, self._module.graph.nodes, strict=True):
            self._nodes[node.name] = copied
            if (
                node.op == "placeholder"
            ):  # names of inputs, which copies change if Python has a function of that name
                copied.name, copied.target = node.name, node.target
        names = joint.graph_signature.inputs_to_parameters
        parameters = {target: self._nodes[name] for name, target in names.items()}
        self._parameters = {target: parameters[target] for target in gradients}
        self._gradients = [self._nodes[name] for name in gradients.values()]
        self._new: list[tuple[Node, str]] = []
        self._values: dict[str, Tensor] = {}
        self._rate: Node | None = None

    def program(self) -> ExportedProgram:
        """The program."""
        self._declare()
        updated = self._trace()
        outputs = self._outputs(updated)
        self._module.graph.output_node().args = (tuple(node for _, node in outputs),)
        self._module.recompile()
        signature = ExportGraphSignature(self._inputs(), [spec for spec, _ in outputs])
        entries = list(self._joint.module_call_graph)
        example: Any = self._joint.example_inputs
        if self._rate is not None:
            called = entries[0].signature
            assert called is not None
            args, keywords = example
            example = ((*args, torch.tensor(1e-3)), keywords)
            names = called.forward_arg_names
            called = replace(
                called,
                in_spec=pytree.tree_flatten(example)[1],
                forward_arg_names=None if names is None else [*names, LEARNING_RATE],
            )
            entries[0] = replace(entries[0], signature=called)
        joint: Any = self._joint
        ranges: Any = copy.deepcopy(joint.range_constraints)
        return ExportedProgram(
            root=self._module,
            graph=self._module.graph,
            graph_signature=signature,
            state_dict={**self._joint.state_dict, **self._values},
            range_constraints=ranges,
            module_call_graph=entries,
            example_inputs=example,
            constants=self._joint.constants,
            verifiers=self._joint.verifiers,
        )

    def _declare(self) -> None:
        """Add placeholders of the new state behind those of the state that there is, and of the learning rate."""
        specs = self._joint.graph_signature.input_specs
        placeholders = [node for node in self._module.graph.nodes if node.op == "placeholder"]
        held = [
            node
            for node, spec in zip(placeholders, specs, strict=True)
            if spec.kind is not InputKind.USER_INPUT
        ]
        mode = next(iter(self._parameters.values())).meta["val"].fake_mode
        after = held[-1]

        def declared(name: str, value: Tensor) -> Node:
            nonlocal after
            with self._module.graph.inserting_after(after):
                after = self._module.graph.placeholder(name)
            with mode:
                after.meta["val"] = torch.empty(value.shape, dtype=value.dtype)
            return after

        def held_as(target: str, value: Tensor) -> None:
            self._new.append((declared(f"b_{target.replace('.', '_')}", value), target))
            self._values[target] = value

        held_as(_STEP, torch.zeros((), dtype=torch.float64))
        for name, node in self._parameters.items():
            like: Tensor = node.meta["val"]
            for moment, first in self._kind.moments(self._options).items():
                value = torch.full(tuple(like.shape), first, dtype=like.dtype)
                held_as(f"{_STATE}.{moment}.{name}", value)
        if self._optimizer.takes_rate:
            after = placeholders[-1] if placeholders[-1] is not held[-1] else after
            self._rate = declared(LEARNING_RATE, torch.zeros(()))

    def _trace(self) -> list[Node]:
        """Insert the update before the output; the new step, parameters and moments, in the order of the state."""
        count = len(self._parameters)
        moments = list(self._kind.moments(self._options))

        def update(values: Sequence[Tensor]) -> list[Tensor]:
            rest = list(values)
            parameters, gradients = rest[:count], rest[count : 2 * count]
            number, held, rates = rest[2 * count] + 1, rest[2 * count + 1 :], []
            if self._rate is not None:
                *held, rate = held
                rates = [rate.to(torch.float64)]
            rate = (
                rates[0]
                if rates
                else torch.full((), float(self._options[LEARNING_RATE]), dtype=torch.float64)
            )
            if self._optimizer.clip is not None:
                gradients = clipped(gradients, self._optimizer.clip)
            made: list[Tensor] = []
            new: list[Tensor] = []
            for at, (parameter, gradient) in enumerate(zip(parameters, gradients, strict=True)):
                own = held[at * len(moments) : (at + 1) * len(moments)]
                found = self._kind.update(
                    parameter,
                    gradient,
                    dict(zip(moments, own, strict=True)),
                    Step(number, rate),
                    self._options,
                )
                made.append(found.parameter)
                new += [found.moments[name] for name in moments]
            return [*made, number, *new]

        inputs = [*self._parameters.values(), *self._gradients, *(node for node, _ in self._new)]
        inputs += [] if self._rate is None else [self._rate]
        fakes = [node.meta["val"].detach() for node in inputs]
        with fakes[0].fake_mode, torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of torch's own use of what it has deprecated
            traced = make_fx(update)(fakes)
        output = self._module.graph.output_node()
        known: dict[Node, Node] = {}
        sources = iter(inputs)
        with self._module.graph.inserting_before(output):
            for node in traced.graph.nodes:
                if node.op == "placeholder":
                    known[node] = next(sources)
                elif node.op == "output":
                    return [known[one] for one in node.args[0]]
                else:
                    made = known[node] = self._module.graph.node_copy(node, lambda one: known[one])
                    made.meta.pop("stack_trace", None)  # which is of this file
                    made.meta["nn_module_stack"] = {_STATE: (_STATE, f"torch.optim.{self._optimizer.name}")}
        raise AssertionError("the traced update has no output")

    def _inputs(self) -> list[InputSpec]:
        specs = [
            replace(spec, arg=replace(spec.arg, name=self._nodes[spec.arg.name].name))
            for spec in self._joint.graph_signature.input_specs
        ]
        held = sum(spec.kind is not InputKind.USER_INPUT for spec in specs)
        new = [
            InputSpec(InputKind.BUFFER, TensorArgument(node.name), target, persistent=True)
            for node, target in self._new
        ]
        rates = (
            []
            if self._rate is None
            else [InputSpec(InputKind.USER_INPUT, TensorArgument(self._rate.name), None)]
        )
        return [*specs[:held], *new, *specs[held:], *rates]

    def _outputs(self, updated: Sequence[Node]) -> list[tuple[OutputSpec, Node]]:
        """Specifications and nodes of the results: what is stored, then the loss and the outputs."""
        count = len(self._parameters)
        stored = [
            (OutputSpec(OutputKind.PARAMETER_MUTATION, TensorArgument(node.name), target), node)
            for target, node in zip(self._parameters, updated[:count], strict=True)
        ]
        stored += [
            (OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(node.name), target), node)
            for (_, target), node in zip(self._new, updated[count:], strict=True)
        ]
        nodes: Any = self._module.graph.output_node().args[0]
        others: list[tuple[OutputSpec, Node]] = []
        for spec, node in zip(self._joint.graph_signature.output_specs, nodes, strict=True):
            arg = replace(spec.arg, name=node.name) if isinstance(node, Node) else spec.arg
            if spec.kind is OutputKind.BUFFER_MUTATION:
                stored.append((replace(spec, arg=arg), node))
            elif spec.kind is not OutputKind.GRADIENT_TO_PARAMETER:
                others.append((OutputSpec(OutputKind.USER_OUTPUT, arg, None), node))
        return [*stored, *others]
