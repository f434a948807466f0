from et_ir.backends import CapabilityPartitioner, DelegationSpec, SupportTable, partition_module

TEXT = """
program.buffer mutable @s : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>, %y: tensor<4xi64>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xi64>, i64) {
  %l = program.load @s : tensor<4xf32>
  %a = edge.relu %x : tensor<4xf32>
  %b = edge.neg %y : tensor<4xi64>
  %c = edge.neg %b : tensor<4xi64>
  %n = edge._local_scalar_dense %p : (tensor<i1>) -> i64
  program.store @s, %a : tensor<4xf32>
  program.overwrite %x, %a : tensor<4xf32>
  func.return %a, %c, %n : tensor<4xf32>, tensor<4xi64>, i64
}
"""


def report_of(parse, *partitioners):
    return partition_module(parse(TEXT), list(partitioners))


def test_each_op_has_a_reason(parse):
    f32 = parse(TEXT).body.block.first_op.type.element_type
    table = SupportTable({"relu": [f32], "neg": [f32]})
    report = report_of(parse, CapabilityPartitioner(DelegationSpec("Demo"), table))
    assert report.partitions == [("forward", "Demo", 1)]
    assert [(one.op_name, str(one.refusals[0])) for one in report.left_out] == [
        ("program.load", "mutable state: @s"),
        ("edge.neg", "element type: i64, not one of f32"),
        ("edge.neg", "element type: i64, not one of f32"),
        ("edge._local_scalar_dense", "returns a scalar: its result is i64"),
        ("program.store", "mutable state: @s"),
        ("program.overwrite", "writes to an input"),
    ]
    assert report.by_reason()[0] == ("element type", 2, [("edge.neg", 2)])
    assert report.text().startswith(
        "1 of 7 ops delegated, in 1 partition\n<text>:4: program.load: mutable state"
    )
    assert "     2  element type: edge.neg x2\n" in report.text()
    left = report.json()["left_out"][1]
    assert left["source"][0]["line"] == 6
    assert left["reasons"] == [{"reason": "element type", "detail": "i64, not one of f32"}]


def test_each_backend_has_its_reason(parse, taking):
    report = report_of(parse, taking("relu"), taking("exp"))
    assert [len(one.refusals) for one in report.left_out] == [2] * 6


def test_a_partition_that_is_not_worth_it(parse, taking):
    partitioner = taking("relu")
    partitioner.min_ops = 2
    report = report_of(parse, partitioner)
    assert report.partitions == []
    assert ("partition too small", 1, [("edge.relu", 1)]) in report.by_reason()
