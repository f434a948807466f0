"""Kernels that users write: plain functions and prepare functions, marked by `@kernel`."""

from __future__ import annotations

import types
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
import pytest
from support.vm_programs import BOUND, Build, f32, load

from et_schema.errors import Error, ExecutorchError, InvalidFile, MissingOperator, Trap
from et_schema.scalar_type import ScalarType
from et_vm import KernelRegistry, kernel, kernels_of
from et_vm.kernels.user import FunctionKernel
from et_vm.values import Tensor


def registry_of(*functions: Any) -> KernelRegistry:
    """The registry of a module with these functions."""
    module = types.ModuleType("mykernels")
    vars(module).update({function.__name__: function for function in functions})
    return KernelRegistry([kernels_of(module)])


def scaled(by: Any = 2.0, *, dynamic: bool = False, extra: int = 0) -> Build:
    """A program that calls `mylib::scale.out`."""
    build = Build()
    options: dict[str, Any] = {"dynamism": BOUND} if dynamic else {}
    x, out = build.tensor(4, **options), build.tensor(4, **options)
    more = [build.scalar(1) for _ in range(extra)]
    build.call("mylib::scale.out", x, build.scalar(by), *more, out, out)
    build.inputs(x)
    build.outputs(out)
    return build


@kernel("mylib::scale.out")
def scale_out(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
    np.multiply(x, by, out=out)


@kernel("mylib::scale.out", shape=lambda x, by: x.shape)
def scale_any(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
    np.multiply(x, by, out=out)


class TestFunctions:
    def test_it_writes_into_its_output(self):
        method = load(scaled(), kernels=registry_of(scale_out))
        assert method.execute([f32(1, 2, 3, 4)])[0].tolist() == [2, 4, 6, 8]
        assert method.execute([f32(0, 0, 0, 1)])[0].tolist() == [0, 0, 0, 2]

    def test_the_function_stays_what_it_was(self):
        out = np.zeros(2)
        scale_out(np.ones(2), 3.0, out=out)
        assert out.tolist() == [3, 3]

    def test_a_whole_number_for_a_float(self):
        @kernel("mylib::scale.out")
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
            assert type(by) is float
            np.multiply(x, by, out=out)

        assert load(scaled(3), kernels=registry_of(scale)).execute([f32(1, 1, 1, 1)])[0].tolist() == [3] * 4

    @pytest.mark.parametrize("said", [lambda x, by: x.shape, lambda x, by: [x.shape]], ids=["sizes", "list"])
    def test_sizes_known_at_run_time(self, said):
        @kernel("mylib::scale.out", shape=said)
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
            np.multiply(x, by, out=out)

        method = load(scaled(dynamic=True), kernels=registry_of(scale))
        for count in (4, 2, 0, 3):
            assert method.execute([np.ones(count, np.float32)])[0].tolist() == [2] * count

    def test_sizes_that_the_kernel_does_not_tell(self):
        method = load(scaled(dynamic=True), kernels=registry_of(scale_out))
        with pytest.raises(Trap, match=r"the kernel has no shape=.*shape=lambda"):
            method.execute([f32(1, 2)])

    def test_inputs_cannot_be_written(self):
        @kernel("mylib::scale.out")
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
            x *= by

        with pytest.raises(Trap, match="read-only"):
            load(scaled(), kernels=registry_of(scale)).execute([f32(1, 2, 3, 4)])

    def test_a_result_that_is_returned(self):
        @kernel("mylib::scale.out")
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> np.ndarray:
            return x * by

        with pytest.raises(Trap, match=r"returned a ndarray, which is ignored.*write the result into out"):
            load(scaled(), kernels=registry_of(scale)).execute([f32(1, 2, 3, 4)])

    def test_returning_the_output_is_no_mistake(self):
        @kernel("mylib::scale.out")
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> np.ndarray:
            return np.multiply(x, by, out=out)

        assert load(scaled(), kernels=registry_of(scale)).execute([f32(1, 1, 1, 1)])[0].tolist() == [2] * 4

    def test_what_it_raises_is_a_trap(self):
        @kernel("mylib::scale.out")
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
            raise ZeroDivisionError("by what?")

        with pytest.raises(
            Trap, match=r"ZeroDivisionError: by what\? \(\S*test_user.py:\d+ in scale\)\n.*mylib::scale\.out"
        ):
            load(scaled(), kernels=registry_of(scale)).execute([f32(1, 2, 3, 4)])

    def test_a_list_of_outputs(self):
        @kernel("mylib::split.out", shape=lambda xs, at, bias: [(2,), (2,)])
        def split_out(
            xs: list[np.ndarray], at: list[int], bias: np.ndarray | None, *, parts: list[np.ndarray]
        ) -> None:
            assert bias is None
            for part, x, item in zip(parts, xs, at, strict=True):
                part[...] = x[item]

        build = Build()
        a, b, first, second = (build.tensor(2) for _ in range(4))
        outs = build.tensors(first, second)
        build.call("mylib::split.out", build.tensors(a, b), build.ints(0, 1), build.scalar(None), outs, outs)
        build.inputs(a, b)
        build.outputs(first, second)
        got = load(build, kernels=registry_of(split_out)).execute([f32(1, 2), f32(3, 4)])
        assert [item.tolist() for item in got] == [[1, 1], [4, 4]]

    def test_several_outputs(self):
        @kernel("mylib::ends.out", shape=lambda x: ((1,), (1,)))
        def ends_out(x: np.ndarray, *, least: npt.NDArray[np.float32], most: npt.NDArray[np.float32]) -> None:
            least[0], most[0] = x.min(), x.max()

        build = Build()
        x, least, most = build.tensor(4), build.tensor(1), build.tensor(1)
        build.call("mylib::ends.out", x, least, most, build.tensors(least, most))
        build.inputs(x)
        build.outputs(least, most)
        got = load(build, kernels=registry_of(ends_out)).execute([f32(3, 1, 4, 2)])
        assert [item.tolist() for item in got] == [[1], [4]]

    @pytest.mark.parametrize("said", [(4, 4), [(4,), (4,)], 4, "four"])
    def test_a_shape_that_does_not_fit(self, said):
        @kernel("mylib::scale.out", shape=lambda x, by: said)
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> None: ...

        with pytest.raises(ExecutorchError):
            load(scaled(), kernels=registry_of(scale)).execute([f32(1, 2, 3, 4)])


class TestPrepareFunctions:
    def test_it_gives_a_step(self):
        @kernel("mylib::scale.out")
        def scale(ctx: Any, x: Tensor, by: float, out: Tensor) -> Any:
            out.resize(x.sizes)
            return np.multiply, (x.array, by, out.array)

        method = load(scaled(dynamic=True), kernels=registry_of(scale))
        assert method.execute([f32(1, 2)])[0].tolist() == [2, 4]

    def test_it_has_no_shape(self):
        with pytest.raises(TypeError, match=r"takes ctx and resizes its outputs itself"):

            @kernel("mylib::scale.out", shape=lambda x: x.shape)
            def scale(ctx: Any, x: Tensor, out: Tensor) -> Any: ...

    def test_its_outputs_come_last(self):
        with pytest.raises(TypeError, match=r"without '\*' before them"):

            @kernel("mylib::scale.out")
            def scale(ctx: Any, x: Tensor, *, out: Tensor) -> Any: ...


class TestWhatIsNoKernel:
    def test_no_outputs(self):
        with pytest.raises(TypeError, match=r"scale \(test_user.py:\d+\) has no outputs"):

            @kernel("mylib::scale.out")
            def scale(x: np.ndarray, by: float) -> None: ...

    def test_any_number_of_arguments(self):
        with pytest.raises(TypeError, match=r"takes \*args"):

            @kernel("mylib::scale.out")
            def scale(*args: Any, out: np.ndarray) -> None: ...

    def test_an_annotation_that_no_argument_has(self):
        with pytest.raises(TypeError, match="parameter 'x' is annotated 'dict"):

            @kernel("mylib::scale.out")
            def scale(x: dict[str, int], *, out: np.ndarray) -> None: ...

    @pytest.mark.parametrize("name", ["scale", "mylib.scale", "mylib::scale.out.more", ""])
    def test_a_name_that_no_operator_has(self, name):
        with pytest.raises(ValueError, match="is not an operator name"):
            kernel(name)

    def test_no_name(self):
        with pytest.raises(ValueError, match="needs an operator name"):
            kernel()


class TestLinking:
    def test_the_wrong_number_of_parameters(self):
        with pytest.raises(ExecutorchError) as caught:
            load(scaled(extra=1), kernels=registry_of(scale_out))
        assert caught.value.code == Error.InvalidArgument
        assert "takes 3 arguments (x, by, out), the call has 4" in str(caught.value)
        assert "scale_out (test_user.py:" in str(caught.value)

    def test_the_wrong_kind_of_argument(self):
        with pytest.raises(ExecutorchError) as caught:
            load(scaled("two"), kernels=registry_of(scale_out))
        assert not isinstance(caught.value, InvalidFile)  # which of the two is wrong is not known
        assert caught.value.code == Error.InvalidType
        assert "argument 'by': expected Int or Double, got String" in str(caught.value)
        assert "scale_out (test_user.py:" in str(caught.value)

    def test_what_to_do_about_an_operator_without_a_kernel(self):
        with pytest.raises(MissingOperator, match=r"@et_vm.kernel\('mylib::scale.out'\), and load it"):
            load(scaled(), kernels=KernelRegistry())

    def test_one_with_a_key(self):
        @kernel("mylib::scale.out", key=((ScalarType.FLOAT, (0,)), (ScalarType.FLOAT, (0,))))
        def scale(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
            out[...] = 7

        method = load(scaled(), kernels=registry_of(scale, scale_out))
        assert method.execute([f32(1, 1, 1, 1)])[0].tolist() == [7] * 4

    def test_two_of_one_operator(self):
        with pytest.raises(ExecutorchError, match="mykernels has two kernels for it"):
            registry_of(scale_out, scale_any)

    def test_one_that_is_there_already(self):
        registry = registry_of(scale_out)
        module = types.ModuleType("others")
        vars(module)["scale"] = scale_any
        with pytest.raises(ExecutorchError, match=r"registered already.*replace=True"):
            kernels_of(module)(registry)

    def test_one_in_the_place_of_another(self):
        @kernel("mylib::scale.out", replace=True)
        def other(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
            out[...] = 9

        registry = registry_of(scale_out)
        module = types.ModuleType("others")
        vars(module)["other"] = other
        kernels_of(module)(registry)
        assert load(scaled(), kernels=registry).execute([f32(1, 1, 1, 1)])[0].tolist() == [9] * 4


def test_annotations():
    def function(
        a: np.ndarray,
        b: npt.NDArray[np.float32] | None,
        c: Optional[int],  # noqa: UP045
        d: int | float,
        e: list[bool],
        f: str,
        g,
        h: Any,
        *,
        out: list[np.ndarray],
    ) -> None: ...

    import inspect

    found = FunctionKernel(function, list(inspect.signature(function).parameters.values()), None).parameters
    assert [(param.name, sorted(param.kinds)) for param in found] == [
        ("a", ["Tensor"]),
        ("b", ["Null", "Tensor"]),
        ("c", ["Int", "Null"]),
        ("d", ["Bool", "Double", "Int"]),
        ("e", ["BoolList"]),
        ("f", ["String"]),
        ("g", []),
        ("h", []),
        ("out", ["TensorList"]),
    ]
