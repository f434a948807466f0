"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, rule
from et_ops.inference.shapes import unlike


def _times(count: int, size: int) -> int:
    """A multiple of a size, which may be unknown."""
    return UNKNOWN if size < 0 else count * size


def _output(input: Meta, hx: Meta, bidirectional: bool) -> Meta:
    """The output sequence: the input's, with the width of the hidden state in each direction."""
    return Meta((*input.shape[:-1], _times(2 if bidirectional else 1, hx.shape[-1])), input.dtype)


def _check(
    input: Meta,
    states: Sequence[Meta],
    params: Sequence[Meta],
    has_biases: bool,
    layers: int,
    bidirectional: bool,
    batch_first: bool,
    gates: int,
) -> None:
    """Raise `Mismatch` for states and weights that are not those of so many layers: torch's kernels do not check them.

    The weights of each layer and direction are those of the input `[gates * cells, features]` and of the hidden state,
    their biases, and those that project cells on a narrower hidden state.
    """
    if input.rank != 3:
        raise Mismatch("input", "3 dimensions", input)
    if len(states) != (2 if gates == 4 else 1):
        raise Mismatch("hx", "a hidden state and a cell state", f"{len(states)} tensors")
    directions = 2 if bidirectional else 1
    for state in states:
        expected = (
            layers * directions,
            input.shape[0 if batch_first else 1],
            state.shape[-1] if state.rank else 0,
        )
        if unlike(state.shape, expected):
            raise Mismatch("hx", f"shape {list(expected)}", state)
    width, cells = states[0].shape[-1], states[-1].shape[-1]
    # Counted first: a number of layers is no bound of the work.
    count = layers * directions * (2 + 2 * has_biases)
    projections = layers * directions
    is_known = width >= 0 and cells >= 0
    has_projections = width != cells if is_known else len(params) == count + projections
    if has_projections:
        count += projections
    if len(params) != count:
        raise Mismatch("params", f"{count} tensors", f"{len(params)}")
    sizes: list[tuple[int, ...]] = []
    for layer in range(layers):
        features = _times(directions, width) if layer else input.shape[-1]
        rows = _times(gates, cells)
        one = [(rows, features), (rows, width)]
        one += [(rows,)] * (2 if has_biases else 0) + [(width, cells)] * has_projections
        sizes += one * directions
    for number, (param, expected) in enumerate(zip(params, sizes, strict=True)):
        if unlike(param.shape, expected):
            raise Mismatch(f"params[{number}]", f"shape {list(expected)}", param)


@rule("lstm.input")
def lstm(
    input: Meta,
    hx: Sequence[Meta],
    params: Sequence[Meta],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Meta, Meta, Meta]:
    _check(input, hx, params, has_biases, num_layers, bidirectional, batch_first, 4)
    hidden, cell = hx
    return _output(input, hidden, bidirectional), hidden, cell


def _of_one_state(gates: int) -> Callable[..., tuple[Meta, Meta]]:
    """The rule of networks with a hidden state alone, whose cells have so many gates."""

    def infer(
        input: Meta,
        hx: Meta,
        params: Sequence[Meta],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Meta, Meta]:
        _check(input, [hx], params, has_biases, num_layers, bidirectional, batch_first, gates)
        return _output(input, hx, bidirectional), hx

    return infer


rule("gru.input")(_of_one_state(3))
rule("rnn_relu.input", "rnn_tanh.input")(_of_one_state(1))


@rule("gru_cell", "rnn_relu_cell", "rnn_tanh_cell")
def rnn_cell(input: Meta, hx: Meta, *_: object) -> Meta:
    return Meta(hx.shape, hx.dtype)


@rule("lstm_cell")
def lstm_cell(input: Meta, hx: Sequence[Meta], *_: object) -> tuple[Meta, Meta]:
    return hx[0], hx[1]
