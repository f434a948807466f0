from support.vm_programs import Build, chain_of_adds, f32, load

from et_vm.tracer import EventTracer, RecordingTracer


def test_events():
    tracer = RecordingTracer()
    method = load(chain_of_adds(2), tracer=tracer)
    assert [phase for phase, _, _ in tracer.loads] == ["registers", "delegates", "link", "prepare"]
    assert ("arena 1", 48) in tracer.allocations
    method.execute([f32(1, 1, 1, 1)])
    assert [(event.index, event.opcode, event.name) for event in tracer.instructions] == [
        (0, "call", "test::add.out"),
        (1, "call", "test::add.out"),
    ]
    assert all(event.start <= event.end for event in tracer.instructions)
    assert len(tracer.executions) == 1


class Values(EventTracer):
    wants_values = True

    def __init__(self):
        self.seen = []

    def on_value(self, method, index, register, value):
        self.seen.append((index, register, value.array.tolist() if hasattr(value, "array") else value))


def test_values():
    build = Build()
    x, out, numel, copy = build.tensor(2), build.tensor(2), build.scalar(0), build.scalar(0)
    build.add(x, x, out)
    build.call("aten::sym_numel", x, numel)
    build.move(numel, copy)
    build.inputs(x)
    tracer = Values()
    load(build, tracer=tracer).execute([f32(1, 2)])
    assert tracer.seen == [(0, out, [2, 4]), (1, numel, 2), (2, copy, 2)]


def test_the_value_of_a_prim_that_writes_into_its_argument():
    build = Build()
    stack, item, index = build.tensor(2, 2), build.tensor(2), build.scalar(1)
    build.call("executorch_prim::et_copy_index.tensor", stack, item, index)
    build.inputs(stack, item)
    tracer = Values()
    load(build, tracer=tracer).execute([f32(1, 2, 3, 4).reshape(2, 2), f32(5, 6)])
    assert tracer.seen == [(0, stack, [[1, 2], [5, 6]])]
