import pytest

from et_ir.delegation.options import operators


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("relu", {"relu"}),
        ("edge.relu", {"relu"}),
        ("aten::relu", {"relu"}),
        ("permute_copy", {"permute"}),
        ("permute", {"permute"}),
        ("aten.linear.default", {"linear"}),
        ("add", {"add.Tensor", "add.Scalar"}),
        ("squeeze.dims", {"squeeze.dims"}),
        ("slice", {"slice.Tensor"}),
        ("_to_copy", {"_to_copy"}),
        ("mylib::scale", {"scale"}),
        ("state", {"state"}),
    ],
)
def test_names(name, found):
    assert operators([name], also=["state"]) == found


def test_an_operator_that_there_is_not():
    with pytest.raises(ValueError, match="unknown operator 'lineer', did you mean 'linear'"):
        operators(["relu", "lineer"])
