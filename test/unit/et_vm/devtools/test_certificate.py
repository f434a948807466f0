"""The certificate of an arena: computed from the file, whoever planned it."""

from __future__ import annotations

from itertools import pairwise

from support.vm_programs import Build, combine

from et_vm.devtools.certificate import Certificate, certificates
from et_vm.program import Program


def certified(build: Build, method: str = "forward") -> dict[int, Certificate]:
    return certificates(Program.load(build.file()), method)


def chain(*offsets: int, memory_id: int = 1) -> Build:
    """A chain of additions, each into a tensor of its own."""
    build = Build()
    registers = [build.tensor(4, offset=offset, memory_id=memory_id) for offset in offsets]
    for one, other in pairwise(registers):
        build.add(one, one, other)
    build.inputs(registers[0])
    build.outputs(registers[-1])
    return build


def test_an_arena_that_two_tensors_fill_in_turns_is_optimal() -> None:
    (one,) = certified(chain(0, 16, 0, 16)).values()
    assert one == Certificate(nbytes=32, bound=32, alignment=16)
    assert one.optimal


def test_an_arena_that_shares_nothing_is_not() -> None:
    (one,) = certified(chain(0, 16, 32, 48)).values()
    assert (one.bound, one.gap, one.optimal) == (32, 32, False)


def test_bounds_say_whose_they_are() -> None:
    build = Build()
    x, y, small, large = (
        build.tensor(count, offset=16 * at) for count, at in ((4, 0), (4, 1), (4, 2), (12, 3))
    )
    build.add(x, y, small)
    build.inputs(x, y)
    build.outputs(large)
    assert [one.moment for one in certified(build).values()] == [
        0
    ]  # an instruction with 48 bytes before the outputs
    build.inputs(x, y, large)
    build.outputs(small)
    assert [one.moment for one in certified(build).values()] == [-1]


def test_what_is_written_in_parts_is_needed_until_it_is_read_as_a_whole() -> None:
    """As with concatenations in place: the parts are never read, and the result is never written."""
    build = Build()
    x, first, second = (build.tensor(4, offset=offset) for offset in (0, 16, 32))
    whole = build.tensor(8, offset=16)
    one, other, out = (build.tensor(4, offset=offset) for offset in (48, 64, 80))
    build.add(x, x, first)
    build.add(x, x, second)
    build.add(x, x, one)  # meanwhile x, both parts and the result
    build.add(one, one, other)
    build.add(whole, whole, whole)
    build.add(other, other, out)
    build.inputs(x)
    build.outputs(out)
    (certificate,) = certified(build).values()
    assert (certificate.bound, certificate.moment) == (64, 2)


def test_ends_count_to_the_next_multiple() -> None:
    # Three at once at multiples of 16, of 12 bytes each: the arena has to have 48, not 36.
    build = Build()
    x, y, out = (build.tensor(3, offset=offset) for offset in (0, 16, 32))
    build.add(x, y, out)
    build.inputs(x, y)
    build.outputs(out)
    build.plan.non_const_buffer_sizes[1] = 48
    assert certified(build) == {1: Certificate(nbytes=48, bound=48, alignment=16)}
    # An arena that ends with its last tensor keeps to multiples of 4 only.
    build.plan.non_const_buffer_sizes[1] = 44
    assert certified(build) == {1: Certificate(nbytes=44, bound=36, alignment=4)}


def test_state_of_other_methods_counts() -> None:
    one, two = chain(0, 16, memory_id=2), Build()
    two.plan.name = "other"
    two.tensor(16, name="cache", memory_id=2)
    one.plan.non_const_buffer_sizes[2] = 64
    program = Program.load(combine(one, two))
    assert certificates(program, "forward") == certificates(program, "other")
    assert certificates(program, "other")[2] == Certificate(nbytes=64, bound=64, alignment=16)
    assert certificates(program, "other")[2].moment is None


def test_bytes_that_two_tensors_share_count_once() -> None:
    # A mistake in a plan, or a view: an arena is not below its bound for it.
    (one,) = certified(chain(0, 0, 0)).values()
    assert (one.nbytes, one.bound) == (16, 16)
