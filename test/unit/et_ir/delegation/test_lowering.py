"""Backend inputs, results and errors in delegation."""

import re
from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.backends import (
    BackendDetails,
    BackendFailed,
    CapabilityPartitioner,
    CompileSpec,
    DelegationSpec,
    Diagnostic,
    NamedDataStore,
    PreprocessResult,
    SupportTable,
    delegate_module,
    lower_partitions,
    partition_module,
)
from et_ir.diagnostics import PassReport
from et_ir.dialects.backend import CallOp, LoweredOp, NamedDataOp
from et_ir.dialects.edge import ops as edge
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import executorch_passes
from et_ir.driver.stages import run_passes
from et_ir.emit import data_files
from et_ir.verification import verify_module
from et_schema.ptd import read_ptd
from et_schema.pte import read_pte
from et_tools.program_files import write_program

TEXT = """
program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
program.parameter @v : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]>
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = program.get @w : tensor<4xf32>
  %a = edge.add.Tensor %x, %w : tensor<4xf32>
  %b = edge.neg %a : tensor<4xf32>
  %c = edge.add.Tensor %b, %w : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = program.get @v : tensor<4xf32>
  %a = edge.add.Tensor %x, %w : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
"""


def of(module, cls):
    return [op for op in module.walk() if isinstance(op, cls)]


def test_a_backend_gets_programs(parse, demo):
    module = parse(TEXT)
    spec = DelegationSpec("Demo", (CompileSpec("k", b"v"),))
    report = delegate_module(
        module, CapabilityPartitioner(spec, SupportTable({"add.Tensor": None})), details_of=lambda _: demo
    )
    verify_module(module)
    assert report.partitions == [("one", "Demo", 1), ("one", "Demo", 1), ("two", "Demo", 1)]
    assert [op.value.blob.view() for op in of(module, LoweredOp)] == [b"blob 1", b"blob 2", b"blob 3"]
    assert [call.callee.string_value() for call in of(module, CallOp)] == [
        "lowered_0",
        "lowered_1",
        "lowered_2",
    ]
    for program, specs in demo.asked:
        assert isinstance(program, ModuleOp)
        verify_module(program)
        assert specs == [CompileSpec("k", b"v")]
        assert [op.name for op in program.body.block.ops] == ["program.parameter", "func.func"]
    assert not [op for op in module.walk() if op.name == "program.parameter"]


def test_all_at_once(parse, taking):
    class All(BackendDetails):
        @classmethod
        def preprocess(cls, edge_program, compile_specs):
            raise AssertionError

        @classmethod
        def preprocess_multimethod(cls, edge_programs, compile_specs):
            assert {name: len(programs) for name, programs in edge_programs.items()} == {"one": 2, "two": 1}
            assert {name: len(specs) for name, specs in compile_specs.items()} == {"one": 2, "two": 1}
            store = NamedDataStore()
            store.add_named_data("weights", b"12345678", 64)
            result = PreprocessResult(
                b"x", data_store_output=store.get_named_data_store_output(), alignment=4096
            )
            return {name: [result] * len(programs) for name, programs in edge_programs.items()}

    module = parse(TEXT)
    delegate_module(module, taking("add.Tensor"), details_of=lambda _: All)
    verify_module(module)
    (data,) = of(module, NamedDataOp)
    assert (data.key, data.alignment.value.data) == ("weights", 64)
    assert [op.alignment.value.data for op in of(module, LoweredOp)] == [4096] * 3


class Sharing(BackendDetails):
    """Stores what its results hold once."""

    asked = ()

    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        return PreprocessResult(b"weights")

    @classmethod
    def share_data(cls, results):
        cls.asked = (*cls.asked, {name: len(ones) for name, ones in results.items()})
        store = NamedDataStore()
        store.add_named_data("weights", results["one"][0].processed_bytes)
        shared = PreprocessResult(b"see weights", data_store_output=store.get_named_data_store_output())
        return {name: [shared] * len(ones) for name, ones in results.items()}


def test_shared_data(parse, taking, monkeypatch):
    monkeypatch.setattr(Sharing, "asked", ())
    module = parse(TEXT)
    delegate_module(module, taking("add.Tensor"), details_of=lambda _: Sharing)
    verify_module(module)
    (data,) = of(module, NamedDataOp)
    assert (data.key, bytes(data.value.blob.view())) == ("weights", b"weights")
    assert [bytes(op.value.blob.view()) for op in of(module, LoweredOp)] == [b"see weights"] * 3
    # A partition alone has nothing to share.
    module = parse(TEXT)
    delegate_module(module, {"two": taking("add.Tensor")}, details_of=lambda _: Sharing)
    assert [bytes(op.value.blob.view()) for op in of(module, LoweredOp)] == [b"weights"]
    assert Sharing.asked == ({"one": 2, "two": 1},)


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (lambda results: {"one": results["one"]}, "returned 0 results for the 1 partitions of method 'two'"),
        (lambda results: results["three"], "cannot compile it: KeyError: 'three'"),
    ],
)
def test_shared_data_that_makes_no_sense(parse, taking, monkeypatch, share, message):
    monkeypatch.setattr(Sharing, "share_data", share)
    module = parse(TEXT)
    text = str(module)
    with pytest.raises(BackendFailed, match=message):
        delegate_module(module, taking("add.Tensor"), details_of=lambda _: Sharing)
    assert str(module) == text


class Broken(BackendDetails):
    """Cannot compile what negates, nor anything of a method with two inputs."""

    returns: object = None

    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        if any(op.name == "edge.neg" for op in edge_program.walk()):
            raise RuntimeError("out of tiles")
        return PreprocessResult(b"x") if cls.returns is None else cls.returns


def test_a_backend_that_raises(parse, taking):
    module = parse(TEXT)
    text = str(module)
    with pytest.raises(BackendFailed) as caught:
        delegate_module(module, taking("add.Tensor", "neg"), details_of=lambda _: Broken)
    assert str(module) == text
    (finding,) = caught.value.diagnostics
    assert "the backend 'Broken' cannot compile it: RuntimeError: out of tiles" in finding.message
    # The other method can be had.
    delegate_module(module, {"two": taking("add.Tensor", "neg")}, details_of=lambda _: Broken)
    verify_module(module)
    assert len(of(module, CallOp)) == 1


def test_what_a_backend_fails_for_is_left_to_others(parse, taking):
    module = parse(TEXT)
    report = delegate_module(module, taking("add.Tensor", "neg"), details_of=lambda _: Broken, strict=False)
    verify_module(module)
    assert report.partitions == [("two", "Demo", 1)]
    assert len(of(module, CallOp)) == 1
    assert [one.subject for one in report.left_out] == ["edge.add.Tensor", "edge.neg", "edge.add.Tensor"]
    assert {note.text for one in report.left_out for note in one.notes} == {"the backend failed: Demo"}
    (failure,) = report.failures
    assert "cannot compile it: RuntimeError: out of tiles" in failure.message
    assert "backend.failed" not in str(module)
    # One that takes less may have it.
    module = parse(TEXT)
    report = delegate_module(
        module, [taking("add.Tensor", "neg"), Second()], details_of=lambda _: Broken, strict=False
    )
    assert report.partitions == [("one", "Second", 1), ("one", "Second", 1), ("two", "Demo", 1)]


class Second(CapabilityPartitioner):
    """Takes sums."""

    def __init__(self):
        super().__init__(DelegationSpec("Second"), SupportTable({"add.Tensor": None}))


def test_a_backend_that_returns_something_else(parse, taking, monkeypatch):
    monkeypatch.setattr(Broken, "returns", b"bytes")
    with pytest.raises(BackendFailed, match="returned bytes, not a PreprocessResult"):
        delegate_module(parse(TEXT), taking("add.Tensor"), details_of=lambda _: Broken)


def test_a_backend_that_returns_too_little(parse, taking):
    class Few(Broken):
        @classmethod
        def preprocess_multimethod(cls, edge_programs, compile_specs):
            return {"one": [PreprocessResult(b"")]}

    with pytest.raises(BackendFailed, match="returned 1 results for the 2 partitions of method 'one'"):
        delegate_module(parse(TEXT), taking("add.Tensor"), details_of=lambda _: Few)


def test_backends_that_name_data_alike(parse, taking):
    class Clash(Broken):
        count = 0

        @classmethod
        def preprocess(cls, edge_program, compile_specs):
            cls.count += 1
            store = NamedDataStore()
            store.add_named_data("weights", b"%d" % cls.count)
            return PreprocessResult(b"", data_store_output=store.get_named_data_store_output())

    module = parse(TEXT)
    text = str(module)
    with pytest.raises(BackendFailed, match="two different blobs are named 'weights'"):
        delegate_module(module, taking("add.Tensor"), details_of=lambda _: Clash)
    assert str(module) == text


def test_a_partitioner_that_raises(parse):
    class Raises(CapabilityPartitioner):
        delegation_spec = DelegationSpec("Demo")

        def support(self, method):
            raise KeyError("tiles")

    module = parse(TEXT)
    text = str(module)
    with pytest.raises(PassReport, match="Raises raised KeyError: 'tiles'"):
        partition_module(module, Raises())
    assert str(module) == text


def test_a_capability_that_raises_names_the_op(parse):
    class Support(SupportTable):
        def refusal(self, op):
            raise ValueError("what is this")

    partitioner = CapabilityPartitioner(DelegationSpec("Demo"), Support({}))
    with pytest.raises(PassReport) as caught:
        partition_module(parse(TEXT), partitioner)
    assert caught.value.diagnostics[0].subject == "edge.add.Tensor"
    assert "raised ValueError: what is this" in caught.value.diagnostics[0].message


def test_what_a_partitioner_fails_for_is_left_to_others(parse):
    class Sometimes(SupportTable):
        def refusal(self, op):
            if op.name == "edge.neg":
                raise ValueError("what is this")
            return super().refusal(op)

    class Raises(CapabilityPartitioner):
        def support(self, method):
            raise KeyError("tiles")

    module = parse(TEXT)
    sums = CapabilityPartitioner(DelegationSpec("Demo"), Sometimes({"add.Tensor": None, "neg": None}))
    report = partition_module(module, [Raises(DelegationSpec("None")), sums], strict=False)
    verify_module(module)
    assert report.partitions == [("one", "Demo", 1), ("one", "Demo", 1), ("two", "Demo", 1)]
    raised = [re.sub(r" \(.*", "", one.message.partition(" raised ")[2]) for one in report.failures]
    assert raised == ["KeyError: 'tiles'", "ValueError: what is this", "KeyError: 'tiles'"]
    assert [one.subject for one in report.failures] == ["func.func", "edge.neg", "func.func"]


def test_two_backends_share_a_program(parse, taking, demo):
    module = parse(TEXT)
    second = CapabilityPartitioner(DelegationSpec("Second"), SupportTable({"neg": None, "add.Tensor": None}))
    second.refuse_partition = lambda ops: Diagnostic("not today") if len(ops) > 1 else None
    report = partition_module(module, [taking("add.Tensor"), second])
    verify_module(module)
    assert report.partitions == [
        ("one", "Demo", 1),
        ("one", "Second", 1),
        ("one", "Demo", 1),
        ("two", "Demo", 1),
    ]
    assert not report.left_out
    lower_partitions(module, lambda _: demo)
    assert len(demo.asked) == 4


def test_passes_of_a_partitioner_run_first(parse):
    class Doubles(CapabilityPartitioner):
        """Takes sines, which its pass makes of negations."""

        def passes(self):
            return [NegToSin()]

    @dataclass(frozen=True)
    class NegToSin(ModulePass):
        name = "neg-to-sin"

        def apply(self, ctx, op):
            for neg in [one for one in op.walk() if one.name == "edge.neg"]:
                sin = edge.SinOp.make(neg.operands[0])
                neg.parent_block().insert_op_before(sin, neg)
                neg.results[0].replace_all_uses_with(sin.result)
                neg.parent_block().erase_op(neg)

    module = parse(TEXT)
    report = partition_module(module, Doubles(DelegationSpec("Demo"), SupportTable({"sin": None})))
    verify_module(module)
    assert report.partitions == [("one", "Demo", 1)]


def test_data_of_a_backend_in_a_data_file(parse, taking, tmp_path):
    class Keeps(BackendDetails):
        @classmethod
        def preprocess(cls, edge_program, compile_specs):
            store = NamedDataStore()
            store.add_named_data("tiles", b"12345678", 64, "tiles.ptd")
            store.add_named_data("table", b"1234")
            return PreprocessResult(b"x", data_store_output=store.get_named_data_store_output())

    module = parse(TEXT)
    delegate_module(module, {"one": taking("add.Tensor")}, details_of=lambda _: Keeps)
    # What is there already stays where it is.
    delegate_module(module, {"two": taking("add.Tensor")}, details_of=lambda _: Keeps)
    verify_module(module)
    run_passes(module, executorch_passes(ExecutorchBackendConfig(extra_backends=["Demo"])))
    names = write_program(module, str(tmp_path / "x.pte"))
    assert [name.name for name in names] == ["x.pte", "tiles.ptd"]
    data = read_ptd(names[1].read_bytes())
    assert bytes(data.named_data()["tiles"]) == b"12345678"
    assert list(data.digests()) == ["tiles"]
    assert [entry.key for entry in read_pte(names[0].read_bytes()).program.named_data] == [
        "table",
        "et_ir.digests",
    ]


def test_a_name_for_two_things_in_data_files(parse):
    module = parse("""
program.parameter @w : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]> {executorch.data_file = "one.ptd"}
backend.named_data "w" = #program.data<ui8, [1]> {executorch.data_file = "two.ptd"}
executorch.plan @f {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %w = executorch.constant external @w : tensor<4xf32>
  executorch.kernel_call "a::b.out"(%x, %w) outs(%x)
  executorch.return %x
}
""")
    with pytest.raises(PassReport, match="a backend has different data named 'w'"):
        data_files(module)


def test_passes_of_a_partitioner_that_raise(parse):
    @dataclass(frozen=True)
    class Raises(ModulePass):
        name = "raises"

        def apply(self, ctx, op):
            raise KeyError("tiles")

    class Wants(CapabilityPartitioner):
        def passes(self):
            return [Raises()]

    module = parse(TEXT)
    text = str(module)
    with pytest.raises(
        PassFailedException, match=r"the pass 'raises' raised KeyError: 'tiles' \(\S*test_lowering"
    ):
        delegate_module(module, Wants(DelegationSpec("Demo"), SupportTable({})))
    assert str(module) == text
