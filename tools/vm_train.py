"""`et-vm train`: epochs of a training step on the arrays of a file."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from et_schema.diagnostics import did_you_mean
from et_schema.training import STEP
from et_schema.wording import count
from et_tools.exit_codes import ExitCode, UsageError
from et_tools.interruption import Interruption
from et_tools.messages import print_message
from et_tools.output import check_output
from et_tools.progress import progress
from et_tools.vm_backends import chosen_backends, chosen_native
from et_tools.vm_files import chosen_platform, open_program
from et_tools.vm_inputs import load_arrays
from et_tools.vm_kernels import chosen_kernels

if TYPE_CHECKING:
    from et_vm.meta import MethodMeta
    from et_vm.program import Program
    from et_vm.run.method import Method

__all__ = ["curve", "train_file"]

LOSS: Final = "forward"
"""The method that computes the loss of validation data."""
RATE: Final = "lr"
BARS: Final = "▁▂▃▄▅▆▇█"
COLUMNS: Final = 60


class Samples(NamedTuple):
    """Arrays of samples, in the order of a method's inputs."""

    arrays: Sequence[np.ndarray[Any, np.dtype[Any]]]
    count: int
    batch: int

    def batches(self, order: np.ndarray[Any, np.dtype[Any]]) -> Iterator[list[Any]]:
        """Whole batches of the samples that `order` numbers; what is left of it is left out."""
        for start in range(0, self.count - self.batch + 1, self.batch):
            chosen = order[start : start + self.batch]
            yield [array[chosen] for array in self.arrays]

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return self.count // self.batch


class Epoch(NamedTuple):
    """Results of an epoch."""

    number: int
    loss: float
    """The mean of its steps."""
    validation: float | None
    rate: float
    """Samples in a second."""

    def line(self, epochs: int) -> str:
        """What the command prints of it."""
        shown = "" if self.validation is None else f", validation {self.validation:.4g}"
        return f"epoch {self.number}/{epochs}: loss {self.loss:.4g}{shown}, {self.rate:,.0f} samples/s"


def train_file(args: argparse.Namespace) -> int:
    """Train, print a line for each epoch, and save the state after each.

    Raises UsageError for options and arrays that do not fit the program, and what loading and executing raise.
    """
    if args.patience is not None and args.validate is None:
        raise UsageError("--patience needs --validate")
    check_output(args.save, [args.file, args.data, args.validate])
    program = open_program(args.file, chosen_platform(args))
    name = _step_name(program, args.method)
    names = [name] if args.validate is None else [name, _loss_name(program, name)]
    memory = program.new_memory(names, poison=args.poison)
    loading: dict[str, Any] = {
        "kernels": chosen_kernels(args, args.kernels),
        "backends": chosen_backends(args),
        "native": chosen_native(args),
        "memory": memory,
        "poison": args.poison,
    }
    step, *others = (program.load_method(one, **loading) for one in names)
    fixed = _fixed(program.method_meta(name), args.lr)
    data = _samples(args.data, program.method_meta(name), args.batch, len(fixed))
    held = None
    if args.validate is not None:
        held = _samples(args.validate, program.method_meta(names[1]), args.batch, 0)
    if args.resume is not None:
        step.state.load(args.resume)
    epochs = _Training(args, step, fixed, data, (others[0], held) if held is not None else None).run()
    if args.json:
        print(json.dumps([one._asdict() for one in epochs], indent=2))
    return ExitCode.OK


class _Training:
    def __init__(
        self,
        args: argparse.Namespace,
        step: Method,
        fixed: Sequence[Any],
        data: Samples,
        validation: tuple[Method, Samples] | None,
    ) -> None:
        self._args, self._step, self._fixed, self._data = args, step, fixed, data
        self._validation = validation
        self._losses: list[float] = []

    def run(self) -> list[Epoch]:
        """All epochs, or those until Ctrl-C, or until validation has not improved for as many as `--patience` says."""
        args = self._args
        draw = np.random.default_rng(args.seed)
        found: list[Epoch] = []
        best, since = math.inf, 0
        with Interruption(lambda: None) as interruption:
            for number in range(1, args.epochs + 1):
                epoch = self._epoch(
                    number, draw.permutation(self._data.count), lambda: interruption.is_requested
                )
                if epoch is None:
                    break
                found.append(epoch)
                if not args.json:
                    print(epoch.line(args.epochs), flush=True)
                reached = -math.inf if epoch.validation is None else epoch.validation
                improved = epoch.validation is None or reached < best
                best, since = (reached, 0) if improved else (best, since + 1)
                if improved or args.patience is None:
                    self._save()
                if args.patience is not None and since >= args.patience:
                    print_message("et-vm", f"validation has not improved for {count(since, 'epoch')}", "note")
                    break
            if interruption.is_requested:
                self._save()
                print_message("et-vm", f"interrupted; the state is in {args.save}", "note")
        if not args.json and self._losses:
            print(curve(self._losses))
        return found

    def _epoch(
        self, number: int, order: np.ndarray[Any, np.dtype[Any]], stops: Callable[[], bool]
    ) -> Epoch | None:
        """One epoch; None if it was interrupted."""
        losses: list[float] = []
        start = time.perf_counter()
        batches = self._data.batches(order)
        for _ in progress(range(self._data.steps), f"epoch {number}"):
            loss = _loss(self._step.execute([*next(batches), *self._fixed]))
            if not math.isfinite(loss):
                raise UsageError(
                    f"the loss of step {len(self._losses) + 1} is {loss}: choose a lower learning rate, or "
                    "--optimizer NAME:clip=1 when compiling"
                )
            losses.append(loss)
            self._losses.append(loss)
            if stops():
                return None
        rate = self._data.steps * self._data.batch / (time.perf_counter() - start)
        return Epoch(number, sum(losses) / len(losses), self._validated(), rate)

    def _validated(self) -> float | None:
        """The mean loss of validation data. What its method changes of the state, as batch norms do, is put back."""
        if self._validation is None:
            return None
        method, held = self._validation
        before = method.state.arrays()
        losses = [_loss(method.execute(batch)) for batch in held.batches(np.arange(held.count))]
        method.state.restore(before)
        return sum(losses) / len(losses)

    def _save(self) -> None:
        self._step.state.save(self._args.save)


def _loss(outputs: Sequence[Any]) -> float:
    """The first output. Raises UsageError if it is not one number."""
    first = np.asarray(outputs[0] if outputs else [])
    if first.size != 1 or first.dtype.kind not in "fiu":
        raise UsageError(
            f"the first output is no loss: {first.dtype.name} {list(first.shape)}, expected one number"
        )
    return float(first.reshape(()))


def curve(losses: Sequence[float]) -> str:
    """The course of the loss in a line: bars of its means, the highest for the largest."""
    parts = np.array_split(np.array(losses), min(COLUMNS, len(losses)))
    means = [float(part.mean()) for part in parts]
    low, high = min(means), max(means)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    bars = "".join(BARS[round((mean - low) * scale)] for mean in means)
    return f"loss {means[0]:.4g} {bars} {means[-1]:.4g}"


def _step_name(program: Program, asked: str | None) -> str:
    names = program.method_names
    name = asked or STEP
    if name not in names:
        hint = did_you_mean(name, names) if asked else ": compile with et-compile --train --optimizer NAME"
        raise UsageError(f"there is no method '{name}'{hint or '; there are ' + ', '.join(names)}")
    return name


def _loss_name(program: Program, step: str) -> str:
    if LOSS not in program.method_names or step == LOSS:
        raise UsageError(f"--validate needs the method '{LOSS}', whose first output is the loss")
    return LOSS


def _fixed(meta: MethodMeta, rate: float | None) -> list[Any]:
    """The inputs that are the same in each step: the learning rate, where it is one."""
    last = meta.num_inputs() - 1
    is_input = last >= 0 and meta.input_name(last) == RATE and meta.input_tensor_meta(last).sizes() == ()
    if is_input and rate is None:
        raise UsageError("the learning rate is an input of the program: give it with --lr")
    if not is_input and rate is not None:
        raise UsageError(
            "--lr: the learning rate is no input of the program: compile with --optimizer NAME:lr=input"
        )
    return [np.array(rate, np.float32)] if is_input else []


def _samples(source: str, meta: MethodMeta, batch: int | None, fixed: int) -> Samples:
    """The arrays of a file, by the names of the inputs or in their order, each with as many samples."""
    slots = range(meta.num_inputs() - fixed)
    arrays = {
        one.source.removeprefix(f"{source}[").removesuffix("]"): one.value for one in load_arrays(source)
    }
    names = [meta.input_name(slot) or f"input {slot}" for slot in slots]
    if set(names) == set(arrays):
        arrays = {name: arrays[name] for name in names}
    if len(arrays) != len(names):
        raise UsageError(
            f"{source} has {count(len(arrays), 'array')} ({', '.join(arrays)}), {meta.name()} takes {', '.join(names)}"
        )
    values = list(arrays.values())
    samples = {array.shape[0] if array.ndim else 0 for array in values}
    if len(samples) != 1 or samples == {0}:
        shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in arrays.items())
        raise UsageError(f"{source}: arrays have a sample in each row, and as many rows: {shapes}")
    [total] = samples
    sizes = {meta.input_tensor_meta(slot).sizes()[:1] for slot in slots}
    [[most]] = sizes if len(sizes) == 1 and sizes != {()} else [[0]]
    if not most:
        raise UsageError(f"the inputs of {meta.name()} have no common batch size in their first dimensions")
    chosen = batch or most
    if chosen > most or (
        chosen < most and not all(meta.input_tensor_meta(slot).is_dynamic() for slot in slots)
    ):
        raise UsageError(f"--batch {chosen}: {meta.name()} was compiled for batches of {most}")
    if total < chosen:
        raise UsageError(f"{source} has {count(total, 'sample')}, a batch has {chosen}")
    return Samples(values, total, chosen)
