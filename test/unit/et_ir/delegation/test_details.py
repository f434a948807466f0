"""Invalid results of `preprocess`."""

import pytest

from et_ir.backends import BackendDetails, BackendFailed, NamedDataStore, PreprocessResult, delegate_module

TEXT = """
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = edge.neg %x : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"processed_bytes": None}, "processed_bytes must be bytes, not NoneType"),
        ({"processed_bytes": "text"}, "processed_bytes must be bytes, not str"),
        ({"debug_handle_map": [1]}, "debug_handle_map must be a mapping, not list"),
        (
            {"debug_handle_map": {0: (3,)}},
            "0 must map to locations of ops, not to 3; build the map with DelegateMapping",
        ),
        (
            {"debug_handle_map": {"a": ()}, "debug_orders": {"a": (0, 2)}},
            r"debug_orders: 'a' has \(0, 2\), not an order of dimensions",
        ),
        ({"debug_orders": {"a": (0, 1)}}, r"debug_orders: 'a' has \(0, 1\), not an order .* a known one"),
        ({"data_store_output": NamedDataStore()}, "data_store_output must be .*, not NamedDataStore"),
        ({"alignment": 3}, "an alignment of 3 bytes is not a power of two"),
        ({"alignment": 0}, "an alignment of 0 bytes is not a power of two"),
    ],
)
def test_what_a_result_is_not(parse, taking, arguments, message):
    class Wrong(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return PreprocessResult(**{"processed_bytes": b"x", **arguments})

    module = parse(TEXT)
    text = str(module)
    with pytest.raises(BackendFailed, match=f"'Wrong' cannot compile it: .*{message}"):
        delegate_module(module, taking("neg"), details_of=lambda _: Wrong)
    assert str(module) == text


def test_a_compiler_that_exits(parse, taking):
    class Exits(BackendDetails):
        @classmethod
        def preprocess(cls, edge_program, compile_specs):
            raise SystemExit(3)

    with pytest.raises(BackendFailed, match="'Exits' cannot compile it: SystemExit: 3"):
        delegate_module(parse(TEXT), taking("neg"), details_of=lambda _: Exits)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_kinds_of_bytes(parse, taking, kind):
    class Any(BackendDetails):
        @classmethod
        def preprocess(cls, edge_program, compile_specs):
            return PreprocessResult(kind(b"12"))

    module = parse(TEXT)
    delegate_module(module, taking("neg"), details_of=lambda _: Any)
    (lowered,) = (op for op in module.walk() if op.name == "backend.lowered")
    assert bytes(lowered.value.blob.view()) == b"12"
