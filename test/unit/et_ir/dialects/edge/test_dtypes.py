"""The table of element types is about operators and arguments that exist, and agrees with that of promotions."""

import re

import pytest
from xdsl.utils.exceptions import VerifyException

from dev.dtype_probe import probed
from dev.examples import parse_example
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.edge.dtypes import CLASSES, TABLE, rows, table
from et_ir.dialects.schema.examples import EXAMPLES, edge_example
from et_ops.facts import DECLARED

PROMOTIONS = {name: facts.promotion for name, facts in DECLARED.items() if facts.promotion is not None}


def test_names_exist() -> None:
    for name, found in table().items():
        arguments = OP_BY_NAME[name].schema().by_name
        for row in found:
            assert all(arguments[arg].type.is_tensor for column in row.columns for arg in column.args), name


def test_rows_of_an_operator_have_the_same_columns() -> None:
    for name, found in table().items():
        assert len({tuple(column.args for column in row.columns) for row in found}) == 1, name


def test_every_operator_of_tensors_has_rows() -> None:
    """Except for copies of views that dense tensors do not have, and what gives types that programs do not have."""
    odd = re.compile(
        r"dim_order_ops\..*|_nested_.*|_make_dual_copy|_fw_primal_copy|_?(c|crow_|col_|ccol_|row_)?(indices|values)_copy"
        r"|_sparse_broadcast_to_copy|hash_tensor"
    )
    takes_tensors = {n for n, op in OP_BY_NAME.items() if any(a.type.is_tensor for a in op.schema().args)}
    lacking = {name for name in takes_tensors - table().keys() if not odd.fullmatch(name)}
    assert not lacking, "run python -m dev.dtype_probe"


def test_what_is_promoted_must_be_uniform() -> None:
    """Every edge operator that `promote-types` converts operands for is checked for mixed types."""
    for name, promotion in PROMOTIONS.items():
        if name in OP_BY_NAME:
            (columns,) = {tuple(column.args for column in row.columns) for row in rows(name)}
            assert promotion.args in columns, name


def test_rows_of_some_are_current() -> None:
    """Of all of them: `test/conformance/test_edge_dtypes.py`."""
    names = ("addmm", "cumsum", "gather", "index_put", "where.self")
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert probed(names).splitlines() == [line for line in lines if line.split(" | ")[0] in names]


def test_examples_agree() -> None:
    """Inference gives, for each operator's example, the types that torch gave when it was probed."""
    for line in EXAMPLES.read_text(encoding="utf-8").splitlines():
        name, text = line.split("\t")
        if name in OP_BY_NAME:
            parse_example(edge_example(text)).verify()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "%r = edge.sin %x : (tensor<2xi64>) -> tensor<2xf64>",
            r"\[edge_c4\] gives f64, expected f32|\[result_c2\]",
        ),
        (
            "%r = edge.embedding %w, %i : (tensor<4x2xf32>, tensor<3xi8>) -> tensor<3x2xf32>",
            r"\[edge_c4\] 'indices' cannot be i8, expected i32, i64",
        ),
        (
            "%r = edge.gelu %x : tensor<2xi64>",
            r"\[edge_c4\] 'self' cannot be i64, expected f16, bf16, f32, f64",
        ),
        (
            "%r = edge.add.Tensor %x, %y : (tensor<2xi64>, tensor<2xf32>) -> tensor<2xf32>",
            r"\[edge_c3\] 'self', 'other' mix element types: i64, f32",
        ),
    ],
)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        parse_example(text).verify()


def test_classes_are_named_by_the_page() -> None:
    labels = {
        word
        for line in TABLE.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
        for column in line.split(" | ")[1:-1]
        for word in column.partition(": ")[2].split()
    }
    known = {"but", *CLASSES} | {t.name for types in CLASSES.values() for t in types}
    assert labels <= known
