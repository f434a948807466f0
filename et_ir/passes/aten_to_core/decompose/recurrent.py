"""Recurrent layers as loops over the steps of a sequence.

```mlir
%y, %hn = aten.rnn_tanh.input %x, %h0, %wi, %wh {…} : (tensor<40x2x3xf32>, …) -> (tensor<40x2x4xf32>, …)
```
becomes
```mlir
%wt = aten.permute %wh {dims = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
%p = …                                                     // a product for the inputs of all steps
%hn, %y = control.scan (%h0) over (%p) : (tensor<2x4xf32>) over (tensor<40x2x4xf32>)
                                         -> (tensor<2x4xf32>) stacked (tensor<40x2x4xf32>) {
^bb0(%h: tensor<2x4xf32>, %q: tensor<2x4xf32>):
  %0 = aten.mm %h, %wt : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = aten.add.Tensor %0, %q : tensor<2x4xf32>
  %2 = aten.tanh %1 : tensor<2x4xf32>
  control.yield %2, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}
```

Each layer and direction is a scan of its own. The products with the input weights do not depend on the state, so those
of all steps are one product before the loop. Layers of few steps are left to torch's decomposition, which is unrolled:
`decompose{unroll}` has their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from xdsl.ir import SSAValue

from et_ir.dialects.aten import AtenOp
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema.tensors import sized_tensor, sizes_of, tensor_type
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, decomposes, meta

__all__ = ["Weights"]


_Layers: TypeAlias = aten.LstmInputOp | aten.GruInputOp | aten.RnnTanhInputOp | aten.RnnReluInputOp


class Weights(NamedTuple):
    """Parameters of one layer in one direction, of `G` gates with `H` cells each."""

    of_input: SSAValue
    """`[G * H, features]`."""
    of_state: SSAValue
    """`[G * H, width]`; the state is as wide as there are cells, unless it is projected."""
    input_bias: SSAValue | None
    """`[G * H]`."""
    state_bias: SSAValue | None
    """`[G * H]`."""
    projection: SSAValue | None
    """`[width, H]`, of the cells on the hidden state."""


_Step: TypeAlias = "Callable[[Chain, Sequence[SSAValue], SSAValue], Sequence[SSAValue]]"
"""The next states `[N, width]`, hidden state first, from the current ones and the input's product `[N, G * H]`."""


def _transposed(b: Chain, matrix: SSAValue) -> SSAValue:
    return b.permute(matrix, (1, 0))


def _gates(b: Chain, value: SSAValue, count: int) -> list[SSAValue]:
    """Equal parts of the columns of `[N, count * H]`."""
    cells = meta(value).shape[1] // count
    return [b(aten.SliceTensorOp, value, 1, k * cells, (k + 1) * cells) for k in range(count)]


def _lstm(b: Chain, weights: Weights) -> _Step:
    """Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000) and projections (Sak et al. 2014)."""
    matrix = _transposed(b, weights.of_state)
    projection = None if weights.projection is None else _transposed(b, weights.projection)

    def step(b: Chain, states: Sequence[SSAValue], item: SSAValue) -> Sequence[SSAValue]:
        hidden, cell = states
        i, f, g, o = _gates(b, b(aten.AddTensorOp, b(aten.MmOp, hidden, matrix), item), 4)
        i, f, o = (b(aten.SigmoidOp, one) for one in (i, f, o))
        kept, added = b(aten.MulTensorOp, f, cell), b(aten.MulTensorOp, i, b(aten.TanhOp, g))
        cell = b(aten.AddTensorOp, kept, added)
        hidden = b(aten.MulTensorOp, o, b(aten.TanhOp, cell))
        return hidden if projection is None else b(aten.MmOp, hidden, projection), cell

    return step


def _gru(b: Chain, weights: Weights) -> _Step:
    """Cho et al. 2014, with the reset gate behind the product, as cuDNN and torch have it."""
    matrix = _transposed(b, weights.of_state)

    def step(b: Chain, states: Sequence[SSAValue], item: SSAValue) -> Sequence[SSAValue]:
        (hidden,) = states
        product = b(aten.MmOp, hidden, matrix)
        if weights.state_bias is not None:
            product = b(aten.AddTensorOp, product, weights.state_bias)
        of_input, of_state = _gates(b, item, 3), _gates(b, product, 3)
        reset, update = (
            b(aten.SigmoidOp, b(aten.AddTensorOp, x, y))
            for x, y in zip(of_input[:2], of_state[:2], strict=True)
        )
        gated = b(aten.MulTensorOp, of_state[2], reset)
        new = b(aten.TanhOp, b(aten.AddTensorOp, of_input[2], gated))
        difference = b(aten.SubTensorOp, hidden, new)
        return (b(aten.AddTensorOp, b(aten.MulTensorOp, difference, update), new),)

    return step


def _elman(activation: type[AtenOp]) -> Callable[[Chain, Weights], _Step]:
    """Elman 1990."""

    def cell(b: Chain, weights: Weights) -> _Step:
        matrix = _transposed(b, weights.of_state)

        def step(b: Chain, states: Sequence[SSAValue], item: SSAValue) -> Sequence[SSAValue]:
            (hidden,) = states
            return (b(activation, b(aten.AddTensorOp, b(aten.MmOp, hidden, matrix), item)),)

        return step

    return cell


class _Cell(NamedTuple):
    prepare: Callable[[Chain, Weights], _Step]
    """Builds what the steps share, before the loop."""
    sums_biases: bool
    """Whether the two biases are only ever added."""


_CELLS: Final[dict[type[AtenOp], _Cell]] = {
    aten.LstmInputOp: _Cell(_lstm, True),
    aten.GruInputOp: _Cell(_gru, False),
    aten.RnnTanhInputOp: _Cell(_elman(aten.TanhOp), True),
    aten.RnnReluInputOp: _Cell(_elman(aten.ReluOp), True),
}


@decomposes(Reason.FEWER, *_CELLS)
def recurrent(b: Chain, op: _Layers) -> Sequence[SSAValue] | None:
    """Layers of more steps than are unrolled, or of a number known at run time only; without dropout."""
    steps = meta(op.input).shape[1 if op.batch_first else 0]
    if 0 <= steps <= b.unroll or (op.train and op.dropout > 0):
        return None
    cell = _CELLS[type(op)]
    initial = op.hx if isinstance(op, aten.LstmInputOp) else (op.hx,)
    directions = 2 if op.bidirectional else 1
    weights = _weights(op)
    sequence = b(aten.TransposeIntOp, op.input, 0, 1) if op.batch_first else op.input
    last: list[Sequence[SSAValue]] = []
    for layer in range(op.num_layers):
        outputs: list[SSAValue] = []
        for direction in range(directions):
            number = layer * directions + direction
            states = [b(aten.SelectIntOp, state, 0, number) for state in initial]
            output, states = _layer(b, cell, sequence, states, weights[number], backwards=direction == 1)
            outputs.append(output)
            last.append(states)
        sequence = outputs[0] if len(outputs) == 1 else b(aten.CatOp, outputs, 2)
    if op.batch_first:
        sequence = b(aten.TransposeIntOp, sequence, 0, 1)
    return sequence, *(b(aten.StackOp, list(each), 0) for each in zip(*last, strict=True))


def _weights(op: _Layers) -> list[Weights]:
    """The parameters by layer and direction."""
    params = list(op.params)
    count = len(params) // (op.num_layers * (2 if op.bidirectional else 1))
    found: list[Weights] = []
    for first in range(0, len(params), count):
        of_input, of_state, *rest = params[first : first + count]
        biases = (rest.pop(0), rest.pop(0)) if op.has_biases else (None, None)
        found.append(Weights(of_input, of_state, *biases, rest[0] if rest else None))
    return found


def _layer(
    b: Chain,
    cell: _Cell,
    sequence: SSAValue,
    states: Sequence[SSAValue],
    weights: Weights,
    *,
    backwards: bool,
) -> tuple[SSAValue, Sequence[SSAValue]]:
    """Outputs `[T, N, width]` of a layer in one direction over `[T, N, features]`, and the last states."""
    bias = weights.input_bias
    if cell.sums_biases and bias is not None and weights.state_bias is not None:
        bias = b(aten.AddTensorOp, bias, weights.state_bias)
    if backwards:
        sequence = b(aten.FlipOp, sequence, (0,))
    step = cell.prepare(b, weights)
    items = b(aten.LinearOp, sequence, weights.of_input, bias)
    type = tensor_type(states[0])
    stack = sized_tensor(type.element_type, [*sizes_of(tensor_type(items))[:2], *sizes_of(type)[1:]])

    def body(states: Sequence[SSAValue], slices: Sequence[SSAValue]) -> Sequence[SSAValue]:
        following = step(b, states, slices[0])
        return *following, following[0]

    carried, (outputs,) = b.scan(states, [items], [stack], body)
    return b(aten.FlipOp, outputs, (0,)) if backwards else outputs, carried
