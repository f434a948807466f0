"""Work of prepared calls, estimated from shapes, and its meter.

The meter counts work before it is done, and bounds that of an execution.

A unit is one element that a call of numpy or BLAS visits, or one multiply-add of a product: some nanoseconds at most. A
call counts `CALL` units whatever its arrays, as it takes about a microsecond. What a step does is read off the
step; a kernel whose function does more than visit its arrays says so (`PrepareContext.work`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.wording import worded
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from et_vm.step import Step

__all__ = ["CALL", "WorkMeter", "elements_of", "work_of"]

CALL = 1000


class WorkMeter:
    """The work of one execution, at most `limit` units. One execution at a time uses it."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    def reset(self) -> None:
        """Begin another execution."""
        self.spent = 0

    def spend(self, work: int) -> None:
        """Count work that is about to be done. Raises ExecutorchError(OutOfResources) when it passes the limit."""
        left = self.limit - self.spent
        if work > left:
            raise self.error(work, left)
        self.spent += work

    def error(self, work: int, left: int) -> ExecutorchError:
        """The error for work that passes the limit."""
        return ExecutorchError(
            Error.OutOfResources,
            f"the call takes {work:,} units of work, {left:,} are left of a limit of {self.limit:,}",
            hint="raise the limit: " + worded(python="Platform(work_limit=…)", command="--work-limit"),
        )

    def metered(self, step: Step, work: int) -> Step:
        """The step that counts `work` and does `step`."""
        return self._run, (work, *step)

    def _run(self, work: int, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self.spend(work)
        function(*arguments)


def work_of(step: Step) -> int:
    """Units of work of a step, and of the steps that it consists of."""
    function, arguments = step
    if function is np.matmul:
        a, _, out = cast("tuple[Array, Array, Array]", arguments[:3])
        return CALL + out.size * max(1, a.shape[-1])
    return CALL + _visited(function) + elements_of(arguments)


def elements_of(values: Iterable[object]) -> int:
    """The elements of arrays and tensors among `values`, to any depth; of steps among them, their work."""
    return sum(map(_visited, values))


def _visited(value: object) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, Tensor):
        return value.numel
    if isinstance(value, (tuple, list)):
        items = cast("tuple[object, ...] | list[object]", value)
        if len(items) == 2 and callable(items[0]) and isinstance(items[1], tuple):
            return work_of(cast("Step", tuple(items)))
        return elements_of(items)
    if isinstance(value, partial):
        return elements_of((*value.args, *value.keywords.values()))
    owner = getattr(value, "__self__", None) if callable(value) else None
    return owner.size if isinstance(owner, np.ndarray) else 0
