"""The operator library is that of the installed torch, and says the same as the dialects made from it."""

from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines the operators

from dev.snapshot import collect
from et_ir.dialects.aten import OP_BY_NAME, Aten
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.dialects.edge import ops as edge
from et_ir.targets.lookup import find_target
from et_ops import OPERATORS, operator, operator_of_kernel, parse_schema
from et_ops.fact import Facts, declare
from et_ops.facts import DECLARED
from et_ops.inference import WITHOUT_RULE
from et_ops.leaves import LEAVES
from et_ops.library import SNAPSHOT, hidden_state
from et_ops.summaries import operator_summary

EMBEDDINGS = ("embedding_2bit", "embedding_4bit", "embedding_byte")


def test_snapshot_is_current():
    assert SNAPSHOT.read_text(encoding="utf-8").splitlines() == collect(), "run python -m dev.snapshot"


def test_snapshot_is_sorted_and_unique():
    lines = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))


def test_record_says_what_its_line_says():
    add = operator("aten::add.Tensor")
    assert add is OPERATORS["add.Tensor"]
    assert (add.namespace, add.name, add.overload_name) == ("aten", "add.Tensor", "add.Tensor")
    assert [arg.name for arg in add.schema.args] == ["self", "other", "alpha"]
    assert add.out is not None
    assert [arg.name for arg in add.out.out_args] == ["out"]
    assert add.kernel == "aten::add.out"
    assert add.is_core
    assert add.is_pointwise
    assert not add.is_view
    assert not add.is_random
    assert (
        operator_summary(add)
        == "The sum of self and alpha times other, element by element, with broadcasting."
    )


def test_record_of_another_namespace():
    found = operator("quantized_decomposed::add")
    assert found.name == "quantized_decomposed.add"
    assert found.overload_name == "add"
    assert found.kernel == "quantized_decomposed::add.out"
    assert found.is_kept_whole
    assert OP_BY_NAME[found.name].operator is found is EDGE[found.name].operator


def test_operators_without_a_shape_rule():
    stated = " ".join(WITHOUT_RULE.values()).split()
    assert stated == sorted(set(stated), key=stated.index)
    without = {name for name, op in OPERATORS.items() if (op.is_edge or op.is_core) and op.shape_rule is None}
    assert set(stated) == without


def test_record_by_its_kernel():
    assert operator_of_kernel("aten::add.out") is operator("aten::add.Tensor")
    assert operator_of_kernel("aten::sym_size.int") is operator("aten::sym_size.int")
    assert operator_of_kernel("aten::no_such.out") is None


def test_unknown_operator():
    with pytest.raises(KeyError):
        operator("aten::no_such_operator")


@pytest.mark.parametrize(
    ("name", "copying", "view"),
    [
        ("permute", "permute_copy", "permute"),
        ("permute_copy", None, "permute"),
        ("slice.Tensor", "slice_copy.Tensor", "slice.Tensor"),
        ("_unsafe_view", "view_copy", "_unsafe_view"),
        ("_to_copy", None, "_to_copy"),
        ("index_copy", None, "index_copy"),
        ("relu", None, "relu"),
    ],
)
def test_forms_of_views(name: str, copying: str | None, view: str):
    assert OPERATORS[name].copying_form == copying
    assert OPERATORS[name].view_form == view


def test_every_operator_has_a_class():
    assert {name for name, one in OPERATORS.items() if one.is_exported} == set(OP_BY_NAME)
    assert OPERATORS.keys() - OP_BY_NAME.keys() == {
        n for n in OPERATORS if n.startswith(("dim_order_ops.", "integer."))
    }
    assert all(OP_BY_NAME[name].name == f"aten.{name}" for name in OP_BY_NAME)


def test_a_class_is_made_once():
    assert aten.AddTensorOp is OP_BY_NAME["add.Tensor"]
    assert edge.AddTensorOp is EDGE["add.Tensor"]
    assert aten.AddTensorOp in Aten.operations


@pytest.mark.parametrize("name", ["NoSuchOp", "PermuteOp", "DimOrderOps"])
def test_a_dialect_has_no_other_class(name: str):
    with pytest.raises(AttributeError, match=name):
        getattr(edge, name)


def test_edge_has_what_runtimes_have_kernels_for():
    """And no more: Core ATen, leaves, and the operators of other namespaces."""
    kernels = find_target("stock-1.5").kernels | find_target("et-vm").kernels
    for name, one in OPERATORS.items():
        if one.namespace != "aten":
            assert one.is_edge
            continue
        out = one.kernel if one.out is not None else None
        wanted = one.is_core or out in kernels or one.overload_name in LEAVES
        assert one.is_edge == (wanted and not one.is_view), name


def test_quantized_operators_are_those_of_torch_and_of_kernels():
    """Functional schemas as torch has them, those it lacks as a target has kernels; an out variant for each kernel."""
    registered: Any = torch._C
    schemas = registered._jit_get_all_schemas()
    prefix = "quantized_decomposed::"
    theirs = {str(s) for s in schemas if s.name.startswith(prefix) and not s.is_mutable}
    records = [one for one in OPERATORS.values() if one.namespace == "quantized_decomposed"]
    ours = {one.schema_text for one in records}
    defined = {s.removeprefix(prefix) for s in theirs if "qc" not in s}
    kernels = {name for name in find_target("et-vm").kernels if name.startswith(prefix)}
    beyond = {parse_schema(s).qualified_name for s in ours - defined}
    runtimes = {f"{name}{dtype}" for name in EMBEDDINGS for dtype in ("", ".dtype")}
    assert defined - ours <= {s for s in defined if s.startswith("add")}
    assert beyond <= runtimes | {"add", "mixed_linear", "mixed_mm"}
    assert {one.kernel for one in records} == kernels


def test_facts_are_of_operators_that_there_are():
    assert DECLARED.keys() <= OPERATORS.keys()
    for name, facts in DECLARED.items():
        for form in (facts.mirror, facts.scalar_form):
            assert form is None or form in OPERATORS, name
        arguments = OPERATORS[name].schema.by_name
        assert all(argument in arguments for argument, _ in facts.sizes), name
        assert facts.promotion is None or arguments.keys() >= set(facts.promotion.args), name


def test_sizes_of_products_are_those_of_the_arguments_that_facts_name():
    arguments: dict[str, tuple[torch.Tensor, ...]] = {
        "mm": (torch.ones(2, 3), torch.ones(3, 4)),
        "addmm": (torch.ones(4), torch.ones(2, 3), torch.ones(3, 4)),
        "bmm": (torch.ones(5, 2, 3), torch.ones(5, 3, 4)),
        "baddbmm": (torch.ones(4), torch.ones(5, 2, 3), torch.ones(5, 3, 4)),
    }
    assert arguments.keys() == {name for name, facts in DECLARED.items() if facts.sizes}
    for name, given in arguments.items():
        by_name = dict(zip(OPERATORS[name].schema.by_name, given, strict=False))
        sizes = [by_name[argument].shape[dim] for argument, dim in DECLARED[name].sizes]
        assert sizes == [*getattr(torch, name)(*given).shape], name


def test_facts_add_up_and_are_declared_once():
    assert operator("aten::add.Tensor").facts.commutative
    assert operator("aten::add.Tensor").facts.promotion is not None
    assert operator("aten::hardswish").facts == Facts()
    with pytest.raises(ValueError, match="declared twice"):
        declare("add.Tensor", commutative=True)


@pytest.mark.parametrize("name", sorted(name for name, facts in DECLARED.items() if facts.commutative))
def test_commutative_operators(name: str):
    x, y = torch.tensor([1, 5, -3, 0]), torch.tensor([4, -2, 2, 0])
    function = overload(name)
    assert torch.equal(function(x, y), function(y, x))


@pytest.mark.parametrize("name", sorted(name for name, facts in DECLARED.items() if facts.mirror))
def test_mirrored_operators(name: str):
    x, y = torch.tensor([1, 5, -3, 0]), torch.tensor([4, -2, 2, 0])
    mirror = DECLARED[name].mirror
    assert mirror is not None
    assert torch.equal(overload(name)(x, y), overload(mirror)(y, x))


UNARY = torch.tensor([-2.5, -0.5, -0.0, 0.0, 0.5, 1.5, 3.0, float("inf")])


@pytest.mark.parametrize(
    "name", sorted(n for n, f in DECLARED.items() if f.involution or f.idempotent or f.nonnegative)
)
def test_laws_of_unary_operators(name: str):
    x = UNARY.to(torch.bool) if name.endswith("_not") else UNARY
    facts, function = DECLARED[name], overload(name)
    once = function(x)
    if facts.involution:
        assert torch.equal(function(once), x)
    if facts.idempotent:
        assert torch.equal(function(once), once)
    if facts.nonnegative:
        assert not torch.signbit(once).any()


@pytest.mark.parametrize("name", sorted(name for name, facts in DECLARED.items() if facts.selects_operand))
def test_operators_that_select_an_operand(name: str):
    x = torch.tensor([True, False]) if "_" in name else UNARY
    assert torch.equal(overload(name)(x, x), x)


def overload(name: str) -> Any:
    packet, _, which = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), which or "default")


def test_operators_that_share_something_hidden() -> None:
    random = {one.kernel for one in OPERATORS.values() if one.is_random}
    found = {one.kernel for one in OPERATORS.values() if hidden_state(one.kernel) is not None}
    assert {name for name in found if name.startswith("aten::")} == random
    for name in ("aten::add.out", "aten::digamma.out", "aten::copy_", "aten::index_put_"):
        assert hidden_state(name) is None
    for name in ("aten::normal_", "aten::normal.out", "aten::randint_like.Tensor_out", "aten::uniform_"):
        assert hidden_state(name) == "the random generator"
    assert hidden_state("mylib::add.out") is not None
