import numpy as np
import pytest
from support.vm_programs import BOUND, UNBOUND, Build, f32, load

from et_schema.errors import Error, InputError
from et_schema.scalar_type import ScalarType


def passthrough(dtype=ScalarType.FLOAT, **options):
    build = Build()
    x = build.tensor(2, 3, dtype=dtype, **options)
    build.inputs(x)
    build.outputs(x)
    return load(build)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ([], Error.InvalidArgument, "takes 1 input, got 0"),
        (
            [np.zeros((2, 3), np.float64)],
            Error.InvalidArgument,
            "expected element type float32, got float64",
        ),
        ([np.zeros((3, 2), np.float32)], Error.NotSupported, r"expected shape \[2, 3\], got \[3, 2\]"),
        ([np.zeros(6, np.float32)], Error.NotSupported, r"expected shape \[2, 3\], got \[6\]"),
        ([[1.0, 2.0]], Error.InvalidArgument, "expected a float32 tensor, got list"),
        ([3], Error.InvalidArgument, "got int 3"),
        ([None], Error.InvalidArgument, "got NoneType"),
    ],
)
def test_that_do_not_fit(given, code, message):
    with pytest.raises(InputError, match=message) as caught:
        passthrough().execute(given)
    assert caught.value.code == code


def test_of_any_stride():
    given = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2].T
    np.testing.assert_array_equal(passthrough().execute([given])[0], given)


def test_bfloat16():
    import ml_dtypes

    given = np.ones((2, 3), ml_dtypes.bfloat16)
    assert passthrough(ScalarType.BFLOAT16).execute([given])[0].dtype == given.dtype


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (0, 3)])
def test_dynamic(shape):
    given = np.ones(shape, np.float32)
    assert passthrough(dynamism=BOUND).execute([given])[0].shape == shape


def test_dynamic_beyond_its_bound():
    with pytest.raises(InputError, match="dimension 1 is 4, its upper bound is 3"):
        passthrough(dynamism=BOUND).execute([np.ones((1, 4), np.float32)])


def test_unbound_of_any_size():
    given = np.ones((50, 60), np.float32)
    assert passthrough(dynamism=UNBOUND, planned=False).execute([given])[0].shape == (50, 60)


@pytest.mark.parametrize("exported", [3, 2.5, True, "text", None])
def test_scalars_must_be_as_exported(exported):
    build = Build()
    build.inputs(build.scalar(exported))
    method = load(build)
    method.execute([exported])
    for wrong in (4, 7.5, False, "other", ()):
        with pytest.raises(InputError, match="expected"):
            method.execute([wrong])


def test_floats_may_be_nearly_as_exported():
    build = Build()
    build.inputs(build.scalar(2.5))
    method = load(build)
    method.execute([2.50001])
    method.execute([np.float64(2.5)])
    with pytest.raises(InputError):
        method.execute([2.51])


def test_an_int_is_no_bool():
    build = Build()
    build.inputs(build.scalar(1))
    with pytest.raises(InputError, match="expected int 1, got bool True"):
        load(build).execute([True])


def test_after_an_error_the_method_still_works():
    method = passthrough()
    with pytest.raises(InputError):
        method.execute([f32(1)])
    assert method.execute([np.ones((2, 3), np.float32)])[0].shape == (2, 3)
