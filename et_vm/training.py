"""Training of programs with gradients, under the names of `executorch.extension.training`.

```python
from et_vm.training import get_sgd_optimizer, load_for_training

module = load_for_training("model.pte")
optimizer = get_sgd_optimizer(module.named_parameters(), lr=0.1, momentum=0.9)
for x, y in batches:
    loss, *_ = module.forward_backward("forward", [x, y])
    optimizer.step(module.named_gradients())
```

The parameters are state of the program: what is written to their arrays is what the next execution computes with.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final

import numpy as np

from et_schema.errors import Error, ExecutorchError, InputError
from et_schema.training import GRADIENTS, NAMES, PARAMETERS
from et_vm.interchange import to_numpy
from et_vm.kernels.portable.creation.random import seed
from et_vm.runtime import Program, Runtime
from et_vm.values import Array

__all__ = ["SGD", "TrainingModule", "get_sgd_optimizer", "load_for_training", "seed"]

_EXPORT: Final = "compile with et-compile --train, or a program of et_ir.joint_program"


class TrainingModule:
    """A program whose methods compute a loss and its gradients with regard to parameters, which they return, too."""

    def __init__(self, program: Program) -> None:
        """Raises ExecutorchError(NotSupported) for a program without a training method."""
        self.program = program
        self.method_names = tuple(
            name.removeprefix(NAMES) for name in program.core.method_names if name.startswith(NAMES)
        )
        """The training methods."""
        if not self.method_names:
            raise ExecutorchError(
                Error.NotSupported, "no method of the program has gradients", where=str(program), hint=_EXPORT
            )
        self._roles: dict[str, tuple[int, int, list[str]]] = {}
        self._gradients: dict[str, Any] | None = None
        self._parameters: dict[str, Any] | None = None

    def _roles_of(self, method: str) -> tuple[int, int, list[str]]:
        """The positions of the first gradient and the first parameter, and the names of both."""
        if method not in self._roles:
            if method not in self.method_names:
                raise ExecutorchError(
                    Error.InvalidArgument,
                    f"the method '{method}' has no gradients; training methods are {', '.join(self.method_names)}",
                    where=str(self.program),
                    hint=_EXPORT,
                )
            found = [self.program.load_method(prefix + method)() for prefix in (GRADIENTS, PARAMETERS, NAMES)]
            (first, *_), (second, *_), names = found
            results = self.program.metadata(method).num_outputs()
            if not (first + len(names) == second and second + len(names) == results):
                raise ExecutorchError(
                    Error.InvalidProgram,
                    f"gradients from {first}, parameters from {second}, {len(names)} names and {results} results",
                    where=method,
                )
            self._roles[method] = first, second, [str(name) for name in names]
        return self._roles[method]

    def forward_backward(self, method_name: str, inputs: Sequence[object]) -> list[Any]:
        """Execute a training method on inputs, as `Method.execute` takes them. Returns the outputs of the module, the
        loss among them; the gradients are in `named_gradients` until the next execution.

        Raises ExecutorchError(InvalidArgument) for a method without gradients, and what `Method.execute` raises.
        """
        first, second, names = self._roles_of(method_name)
        results = self.program.load_method(method_name).execute(inputs, clone_outputs=False)
        copies = [_copy(value) for value in results[:second]]
        self._gradients = dict(zip(names, copies[first:], strict=True))
        self._parameters = dict(zip(names, results[second:], strict=True))
        return copies[:first]

    def named_gradients(self) -> dict[str, Any]:
        """The gradients of the last `forward_backward` by parameter, in the parameter's shape and element type.

        Raises ExecutorchError(InvalidState) before the first.
        """
        if self._gradients is None:
            raise ExecutorchError(
                Error.InvalidState, "there are no gradients yet", hint="call forward_backward first"
            )
        return self._gradients

    def named_parameters(self) -> dict[str, Any]:
        """The parameters by name: the memory of the program, to read and to write; torch tensors if the last inputs
        were, else numpy arrays. Before the first execution they are those of the first training method.
        """
        if self._parameters is None:
            _, second, names = self._roles_of(self.method_names[0])
            results = self.program.load_method(self.method_names[0]).get_outputs(clone_outputs=False)
            self._parameters = dict(zip(names, results[second:], strict=True))
        return self._parameters


def _copy(value: Any) -> Any:
    copy: Callable[[], Any] | None = getattr(value, "clone", getattr(value, "copy", None))
    return value if copy is None else copy()


def load_for_training(
    data: bytes | bytearray | memoryview | BinaryIO | str | os.PathLike[str], **options: Any
) -> TrainingModule:
    """Load a program with gradients, with the options of `et_vm.runtime.Runtime.load_program`. Raises what that does,
    and ExecutorchError(NotSupported) for a program without gradients.
    """
    return TrainingModule(Runtime.get().load_program(data, **options))


# Upstream's names, which have an underscore.
_load_for_executorch_for_training = load_for_training
_load_for_executorch_for_training_from_buffer = load_for_training


class SGD:
    """Stochastic gradient descent as `torch.optim.SGD`: `step` changes the parameters in place.

    Raises InputError for what is no floating-point array that can be written.
    """

    def __init__(
        self,
        named_parameters: Mapping[str, Any],
        lr: float,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening):
            raise InputError("nesterov needs a momentum, and no dampening")
        for name, value in {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}.items():
            if not value >= 0:
                raise InputError(f"{name} is {value}, which is not 0 or more")
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov
        self._parameters = {name: _writable(name, value) for name, value in named_parameters.items()}
        self._momenta: dict[str, Array] = {}

    def step(self, named_gradients: Mapping[str, Any]) -> None:
        """Go one step against the gradients; parameters without one stay. Raises InputError, with nothing changed, for
        an unknown name and for another shape or element type than the parameter's.
        """
        gradients = {name: self._checked(name, value) for name, value in named_gradients.items()}
        with np.errstate(all="ignore"):
            for name, gradient in gradients.items():
                self._step(name, self._parameters[name], gradient)

    def _step(self, name: str, parameter: Array, gradient: Array) -> None:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        if self.momentum:
            held = self._momenta.get(name)
            if held is None:
                held = self._momenta[name] = gradient.copy()
            else:
                held *= self.momentum
                held += (1 - self.dampening) * gradient
            gradient = gradient + self.momentum * held if self.nesterov else held
        parameter -= self.lr * gradient

    def _checked(self, name: str, value: Any) -> Array:
        parameter = self._parameters.get(name)
        if parameter is None:
            raise InputError(f"no parameter {name!r}", hint=f"there are {', '.join(self._parameters)}")
        gradient = to_numpy(value)
        if gradient is None or gradient.shape != parameter.shape or gradient.dtype != parameter.dtype:
            got = type(value).__name__ if gradient is None else f"{gradient.dtype} {list(gradient.shape)}"
            raise InputError(
                f"the gradient of {name!r} is {got}, the parameter {parameter.dtype} {list(parameter.shape)}"
            )
        return gradient


def _writable(name: str, value: Any) -> Array:
    array = to_numpy(value.detach() if hasattr(value, "detach") else value)
    if array is None or not array.flags.writeable or not _is_float(array):
        raise InputError(f"the parameter {name!r} is not a floating-point array that can be written")
    return array


def _is_float(array: Array) -> bool:
    return np.issubdtype(array.dtype, np.floating) or array.dtype.name == "bfloat16"


def get_sgd_optimizer(
    named_parameters: Mapping[str, Any],
    lr: float,
    momentum: float = 0,
    dampening: float = 0,
    weight_decay: float = 0,
    nesterov: bool = False,
) -> SGD:
    """The optimizer `SGD`, by upstream's name."""
    return SGD(named_parameters, lr, momentum, dampening, weight_decay, nesterov)
