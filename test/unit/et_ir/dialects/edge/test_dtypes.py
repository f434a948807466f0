"""The table of element types is about operators and arguments that exist, and agrees with that of promotions."""

from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.edge.dtypes import CONSTRAINTS
from et_ir.dialects.edge.promotion import PROMOTIONS


def test_names_exist() -> None:
    for name, constraints in CONSTRAINTS.items():
        arguments = OP_BY_NAME[name].schema().by_name
        for constraint in constraints:
            assert all(arguments[arg].type.is_tensor for arg in constraint.args), name


def test_what_is_promoted_must_be_uniform() -> None:
    """Every edge operator that `promote-types` converts operands for is checked for mixed types."""
    for name, promotion in PROMOTIONS.items():
        if name in OP_BY_NAME:
            assert promotion.args in {constraint.args for constraint in CONSTRAINTS.get(name, ())}, name
