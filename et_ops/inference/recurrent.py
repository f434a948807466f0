"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.inference.meta import Meta, rule


def _output(input: Meta, hx: Meta, bidirectional: bool) -> Meta:
    """The output sequence: the input's, with the width of the hidden state in each direction."""
    return Meta((*input.shape[:-1], hx.shape[-1] * (2 if bidirectional else 1)), input.dtype)


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
    hidden, cell = hx
    return _output(input, hidden, bidirectional), hidden, cell


@rule("gru.input", "rnn_relu.input", "rnn_tanh.input")
def rnn(
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
    return _output(input, hx, bidirectional), hx


@rule("gru_cell", "rnn_relu_cell", "rnn_tanh_cell")
def rnn_cell(input: Meta, hx: Meta, *_: object) -> Meta:
    return Meta(hx.shape, hx.dtype)


@rule("lstm_cell")
def lstm_cell(input: Meta, hx: Sequence[Meta], *_: object) -> tuple[Meta, Meta]:
    return hx[0], hx[1]
