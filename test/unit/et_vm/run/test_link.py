import numpy as np
import pytest
from support.vm_programs import BOUND, Build, chain_of_adds, f32, kernels, load

from et_schema.errors import Error, InvalidFile, MissingOperator, Trap
from et_schema.scalar_type import ScalarType


def test_kernels_by_key():
    registry = kernels()

    def for_longs(ctx, self, other, out):
        return np.subtract, (self.array, other.array, out.array)

    key = ((ScalarType.LONG, (0,)),) * 3
    registry.register("test::add.out", for_longs, key)
    build = Build()
    x, out = build.tensor(2, dtype=ScalarType.LONG), build.tensor(2, dtype=ScalarType.LONG)
    build.add(x, x, out)
    build.inputs(x)
    build.outputs(out)
    assert load(build, kernels=registry).execute([np.array([1, 2])])[0].tolist() == [0, 0]
    assert load(chain_of_adds(1), kernels=registry).execute([f32(1, 1, 1, 1)])[0].tolist() == [2] * 4


def test_all_missing_operators_are_named():
    build = Build()
    x = build.tensor(2)
    build.call("test::one.out", x, x, x)
    build.call("test::two", x, x)
    build.call("test::one.out", x, x, x)
    build.inputs(x)
    with pytest.raises(MissingOperator) as caught:
        load(build)
    assert caught.value.operators == ("test::one.out", "test::two")
    assert caught.value.code == Error.OperatorMissing


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("x x out", Error.InvalidProgram, "takes 3 arguments and its outputs again, got 3"),
        ("x x out out out", Error.InvalidProgram, "got 5"),
        ("x x out x2", Error.InvalidProgram, "does not repeat its outputs"),
        ("x number out out", Error.InvalidType, "argument 'other': expected Tensor, got Int"),
        ("none x out out", Error.InvalidType, "argument 'self': expected Tensor, got Null"),
        ("pair x out out", Error.InvalidType, "argument 'self': expected Tensor, got TensorList"),
    ],
)
def test_calls_that_do_not_fit_the_schema(arguments, code, message):
    build = Build()
    names = {"x": build.tensor(2), "out": build.tensor(2), "x2": build.tensor(2)}
    names |= {"number": build.scalar(1), "none": build.scalar(None)}
    names["pair"] = build.tensors(names["x"], names["x2"])
    build.call("test::add.out", *(names[name] for name in arguments.split()))
    build.inputs(names["x"], names["x2"])
    with pytest.raises(InvalidFile, match=message) as caught:
        load(build)
    assert caught.value.code == code
    assert caught.value.offset is not None


@pytest.mark.parametrize("items", [(), (3,)])
def test_lists_of_the_wrong_kind(items):
    build = Build()
    x, out = build.tensor(1), build.tensor(1, dynamism=BOUND)
    size = build.doubles(*map(float, items))
    build.call("test::reshape.out", x, size, out, out)
    build.inputs(x)
    if items:
        with pytest.raises(InvalidFile, match="expected IntList, got DoubleList"):
            load(build)
    else:
        with pytest.raises(Trap, match="rank is fixed"):
            load(build).execute([f32(1)])


def test_prims_with_the_wrong_number_of_arguments():
    build = Build()
    a = build.scalar(1)
    build.call("executorch_prim::add.Scalar", a, a)
    with pytest.raises(InvalidFile, match="takes 3 arguments, got 2"):
        load(build)
