import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from et_ir.backends import DelegateMappingBuilder


def op(line):
    made = ModuleOp([])
    made.location = FileLineColLoc(StringAttr("model.py"), IntAttr(line), IntAttr(0))
    return made


def test_generated_identifiers():
    builder = DelegateMappingBuilder(generated_identifiers=True)
    one, two = op(1), op(2)
    assert builder.insert_delegate_mapping_entry(one) == 0
    assert builder.insert_delegate_mapping_entry([one, two, one]) == 1
    assert builder.get_delegate_mapping() == {0: (one.location,), 1: (one.location, two.location)}


def test_given_identifiers():
    builder = DelegateMappingBuilder()
    assert builder.insert_delegate_mapping_entry(op(1), "conv_1") == "conv_1"
    with pytest.raises(ValueError, match="'conv_1' is already used for other ops"):
        builder.insert_delegate_mapping_entry(op(2), "conv_1")
    with pytest.raises(ValueError, match="all numbers or all names"):
        builder.insert_delegate_mapping_entry(op(2), 3)


@pytest.mark.parametrize("generated", [False, True])
def test_identifiers_are_generated_or_given(generated):
    with pytest.raises(ValueError, match="generates the identifiers" if generated else "needs an identifier"):
        DelegateMappingBuilder(generated).insert_delegate_mapping_entry(op(1), 1 if generated else None)


def test_values_that_a_later_identifier_goes_on_with():
    builder = DelegateMappingBuilder(generated_identifiers=True)
    var, mean, relu, end = op(1), op(1), op(2), ModuleOp([])
    for ops in ([var], [mean, relu, end], [end], [relu, end], [op(3), mean], [op(4), end]):
        builder.insert_delegate_mapping_entry(ops)
    assert builder.get_debug_orders() == {0: (), 1: ()}
