"""What waits for its turn is bounded: a real connection stops reading, and reads on, unless the program has it stopped."""

from __future__ import annotations

from reenact.seams.sockets.backlog import Backlog

MIB = 1 << 20


class _Transport:
    def __init__(self) -> None:
        self.reads = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


def test_a_connection_stops_reading_where_much_waits_and_reads_on_where_little_does() -> None:
    transport, backlog = _Transport(), Backlog(lambda: False)
    backlog.more(MIB, transport)
    assert transport.reads
    backlog.more(1, transport)
    assert not transport.reads
    backlog.less(MIB // 4, transport)
    assert not transport.reads
    backlog.less(MIB // 2, transport)
    assert transport.reads


def test_it_does_not_read_on_where_the_program_has_it_stopped() -> None:
    transport, backlog = _Transport(), Backlog(lambda: True)
    backlog.more(2 * MIB, transport)
    backlog.less(2 * MIB, transport)
    assert not transport.reads


def test_it_stops_again_where_the_program_let_it_read_on_meanwhile() -> None:
    transport, backlog = _Transport(), Backlog(lambda: False)
    backlog.more(2 * MIB, transport)
    transport.resume_reading()
    backlog.more(1, transport)
    assert not transport.reads
