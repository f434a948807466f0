"""The example of every operator is a valid op, printed as it stands, and in the docstring of the op's class."""

from __future__ import annotations

import inspect

import pytest
from xdsl.utils.exceptions import ParseError

from dev.examples import parse_example
from et_ir.dialects.aten import OP_BY_NAME as ATEN
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.examples import EXAMPLES, edge_example, read_examples

WITHOUT = {
    "torch only makes it on CUDA": """
        _cufft_clear_plan_cache _cufft_get_plan_cache_max_size _cufft_get_plan_cache_size
        _cufft_set_plan_cache_max_size baddbmm.dtype
    """,
    "takes or gives sparse tensors, which the IR has no types for": """
        _indices_copy _sparse_broadcast_to_copy _sparse_bsc_tensor_unsafe _sparse_bsr_tensor_unsafe
        _sparse_compressed_tensor_unsafe _sparse_coo_tensor_unsafe _sparse_csc_tensor_unsafe
        _sparse_csr_tensor_unsafe _sparse_log_softmax.int _sparse_mm.reduce _sparse_softmax.int _sparse_sum
        _sparse_sum.dim_dtype _sparse_sum.dtype _values_copy ccol_indices_copy col_indices_copy crow_indices_copy
        indices_copy row_indices_copy smm sparse_bsc_tensor.ccol_row_value sparse_bsc_tensor.ccol_row_value_size
        sparse_bsr_tensor.crow_col_value sparse_bsr_tensor.crow_col_value_size sparse_coo_tensor.indices
        sparse_coo_tensor.indices_size sparse_csc_tensor.ccol_row_value sparse_csc_tensor.ccol_row_value_size
        sparse_csr_tensor.crow_col_value sparse_csr_tensor.crow_col_value_size sspaddmm to_sparse
        to_sparse.sparse_dim to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr values_copy
    """,
    "takes or gives nested tensors, which the IR has no types for": """
        _nested_get_values_copy _nested_view_from_buffer_copy _nested_view_from_jagged_copy
        nested_to_padded_tensor
    """,
    "takes or gives dual numbers of forward-mode differentiation": "_fw_primal_copy _make_dual_copy",
    "gives ui64, which is not an element type of the IR": "hash_tensor",
}
"""Operators without an example, by reason."""


def example_of(cls: type[SchemaOp]) -> str | None:
    """The example that stands in a docstring, or `None`."""
    documentation = inspect.getdoc(cls)
    assert documentation is not None
    summary, _, rest = documentation.partition("\n")
    assert summary.endswith("."), cls.name
    return rest.strip() or None


def test_operators_without_an_example():
    excused = [name for names in WITHOUT.values() for name in names.split()]
    assert len(excused) == len(set(excused))
    assert sorted(excused) == sorted((ATEN.keys() | EDGE.keys()) - read_examples().keys())


def test_no_example_of_an_unknown_operator():
    assert read_examples().keys() <= ATEN.keys() | EDGE.keys()


def test_table_is_sorted():
    names = [line.partition("\t")[0] for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    assert names == sorted(set(names))


@pytest.mark.parametrize("dialect", ["aten", "edge"])
def test_docstrings_hold_the_examples(dialect: str):
    for name, cls in (ATEN if dialect == "aten" else EDGE).items():
        expected = read_examples().get(name)
        if expected is not None and dialect == "edge":
            expected = edge_example(expected)
        assert example_of(cls) == expected, cls.name


@pytest.mark.parametrize("dialect", ["aten", "edge"])
def test_examples_parse_verify_and_print(dialect: str):
    for cls in (ATEN if dialect == "aten" else EDGE).values():
        text = example_of(cls)
        if text is not None:
            op = parse_example(text)
            assert type(op) is cls
            op.verify()
            assert str(op) == text


def test_edge_examples_hold_no_numbers_as_tensors():
    for cls in EDGE.values():
        text = example_of(cls)
        if text is not None:
            op = parse_example(text)
            assert isinstance(op, cls)
            assert not any(str(value.type) in ("i64", "f64", "i1") for value in op.operands), text


@pytest.mark.parametrize(
    "text",
    [
        "%result = aten.relu : tensor<2x3xf32>",
        "%result = aten.no_such_op %self : tensor<2x3xf32>",
        "%result = aten.relu %self {dim = 1} : tensor<2x3xf32>",
    ],
)
def test_texts_that_are_no_examples(text: str):
    with pytest.raises(ParseError):
        parse_example(text)
