import pytest
from support.vm_programs import BOUND, Build

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.program import Program


@pytest.fixture
def meta():
    build = Build("encode")
    x = build.tensor(2, 3, dynamism=BOUND)
    image = build.tensor(1, 2, 3, 4, dtype=ScalarType.BFLOAT16, dim_order=(0, 2, 3, 1), planned=False)
    build.state([1.0], name="cache", memory_id=2)
    out = build.tensor(2, 3)
    build.add(x, x, out)
    build.delegate("Acme", b"", image, out)
    build.inputs(x, image, build.scalar(3), build.scalar(None), build.scalar("text"))
    build.outputs(out, build.ints(1))
    return Program.load(build.file()).method_meta("encode")


def test_numbers(meta):
    assert meta.name() == "encode"
    assert (meta.num_inputs(), meta.num_outputs(), meta.num_attributes()) == (5, 2, 1)
    assert meta.num_instructions() == 2
    assert meta.backends() == ["Acme"]
    assert meta.uses_backend("Acme")
    assert not meta.uses_backend("Other")
    assert meta.memory_planned_buffer_sizes() == {1: 64, 2: 16}
    assert "encode" in repr(meta)


def test_tags_and_values(meta):
    assert [meta.input_tag(index) for index in range(5)] == ["Tensor", "Tensor", "Int", "Null", "String"]
    assert [meta.output_tag(index) for index in range(2)] == ["Tensor", "IntList"]
    assert [meta.input_value(index) for index in range(2, 5)] == [3, None, "text"]


def test_tensors(meta):
    x, image, cache = meta.input_tensor_meta(0), meta.input_tensor_meta(1), meta.attribute_tensor_meta(0)
    assert (x.sizes(), x.dtype(), x.nbytes(), x.is_memory_planned(), x.is_dynamic()) == (
        (2, 3),
        ScalarType.FLOAT,
        24,
        True,
        True,
    )
    assert (image.dim_order(), image.nbytes(), image.is_memory_planned()) == ((0, 2, 3, 1), 48, False)
    assert (cache.name(), cache.dtype()) == ("cache", ScalarType.DOUBLE)
    assert repr(cache) == "TensorInfo(cache: float64[1])"


@pytest.mark.parametrize(
    "ask",
    [
        lambda meta: meta.input_tensor_meta(5),
        lambda meta: meta.input_tensor_meta(-1),
        lambda meta: meta.input_tensor_meta(2),
        lambda meta: meta.output_tensor_meta(1),
        lambda meta: meta.attribute_tensor_meta(1),
        lambda meta: meta.input_tag(9),
    ],
)
def test_what_is_not_there(meta, ask):
    with pytest.raises(ExecutorchError) as caught:
        ask(meta)
    assert caught.value.code == Error.InvalidArgument


def test_tables_in_notebooks():
    build = Build("<b>")
    x = build.tensor(2, 3)
    build.state([1.0], name="<script>", memory_id=2)
    build.add(x, x, x)
    build.inputs(x, build.scalar(3))
    build.outputs(x)
    shown = Program.load(build.file()).method_meta("<b>")._repr_html_()
    assert "<caption>&lt;b&gt;: 1 instructions</caption>" in shown
    assert "<td>input 0</td><td>float32 [2, 3]</td><td>24</td>" in shown
    assert "<td>input 1</td><td>Int</td><td></td>" in shown
    assert "<td>buffer &lt;script&gt;</td>" in shown
    assert "<td>arena 1</td><td></td>" in shown
    assert "<script>" not in shown
