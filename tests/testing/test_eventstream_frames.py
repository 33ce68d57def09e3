"""The frames that the model server writes are those that botocore reads."""

from __future__ import annotations

from botocore.eventstream import EventStreamBuffer

from reenact.testing.wire.eventstream import event, frame, frames


def test_botocore_reads_a_frame_and_finds_its_checksums_right() -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(event("messageStop", b'{"stopReason":"end_turn"}'))
    (message,) = list(buffer)
    assert message.headers == {
        ":event-type": "messageStop",
        ":content-type": "application/json",
        ":message-type": "event",
    }
    assert message.payload == b'{"stopReason":"end_turn"}'


def test_a_body_falls_into_its_frames_and_what_is_left() -> None:
    whole = [frame({"a": "b"}, b"one"), frame({}, b""), event("x", b"{}")]
    assert list(frames(b"".join(whole))) == whole
    assert list(frames(b"".join(whole) + b"tail")) == [*whole, b"tail"]
    assert b"".join(frames(b"\0" * 40)) == b"\0" * 40
