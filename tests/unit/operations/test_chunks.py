"""What lies across the borders of a long value's chunks."""

from __future__ import annotations

from random import Random

from infinicon.operations.chunks import SIZE, joints

TEXT = Random(1).randbytes(3 * SIZE + 700)


def chunk(value: int, number: int, data: bytes) -> bytes:
    head = b"".join(part.to_bytes(4, "little") for part in (value, number, (len(data) + 4) << 2))
    return Random(number).randbytes(23) + head + data


def test_the_chunks_of_a_value_are_joined_in_whatever_order_they_lie() -> None:
    chunks = [chunk(77, number, TEXT[at : at + SIZE]) for number, at in enumerate(range(0, len(TEXT), SIZE))]
    others = [chunk(78, number, bytes(SIZE)) for number in range(3)]
    file = b"".join([*reversed(chunks), *others])
    blocks = [file[at : at + 512] for at in range(0, len(file), 512)]
    found = list(joints(lambda: blocks, any))
    for border in (SIZE, 2 * SIZE, 3 * SIZE):
        assert any(TEXT[border - 100 : border + 100] in joint for joint in found)
    assert not list(joints(lambda: blocks, lambda _: False))
