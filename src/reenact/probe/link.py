"""A link between a debugger and a process: messages as JSON, each with its length before it, and links of others."""

from __future__ import annotations

import _socket
import array
import contextlib
import struct
from typing import Any, Generic, Self, TypeVar

import msgspec

_LENGTH = struct.Struct("=I")
_CHUNK = 1 << 16
_DESCRIPTOR = array.array("i").itemsize

type_of_message = TypeVar("type_of_message")


class Link(Generic[type_of_message]):
    """One end. What it receives is of the type that `kind` stands for.

    It is a socket of the system's, which is not what seams meet.
    """

    def __init__(self, descriptor: int, kind: Any) -> None:
        self._end = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, descriptor)
        self._decode = msgspec.json.Decoder(kind).decode

    @classmethod
    def pair(cls, kind: Any) -> tuple[Self, int]:
        """A new link: this end of it, and the descriptor of the other."""
        one, other = _socket.socketpair()
        return cls(one.detach(), kind), other.detach()

    def fileno(self) -> int:
        """The descriptor."""
        return self._end.fileno()

    def send(self, message: msgspec.Struct, handed: int = -1) -> None:
        """Sends a message, and with it a descriptor, if one is given.

        Raises:
            OSError: nobody is there any more.
        """
        data = msgspec.json.encode(message)
        data = _LENGTH.pack(len(data)) + data
        if handed >= 0:
            rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [handed]))
            data = data[self._end.sendmsg([data], [rights]) :]
        if data:  # else who has all of it may be gone by now, and to send nothing would fail
            self._end.sendall(data)

    def receive(self) -> tuple[type_of_message, int]:
        """The next message, and the descriptor that came with it (-1: none).

        Raises:
            EOFError: nobody is there any more.
        """
        head, handed = self._read(_LENGTH.size)
        body, _ = self._read(_LENGTH.unpack(head)[0])
        return self._decode(body), handed

    def waits(self) -> bool:
        """Whether something has come, or nobody is there any more."""
        try:
            self._end.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def shutdown(self) -> None:
        """Nothing comes any more, for either end."""
        with contextlib.suppress(OSError):
            self._end.shutdown(_socket.SHUT_RDWR)

    def close(self) -> None:
        """Lets go of this end."""
        self._end.close()

    def _read(self, size: int) -> tuple[bytes, int]:
        data, handed = bytearray(), -1
        while len(data) < size:
            try:
                part, rights, _, _ = self._end.recvmsg(min(size - len(data), _CHUNK), _socket.CMSG_SPACE(_DESCRIPTOR))
            except ConnectionError as error:
                raise EOFError from error
            if not part:
                raise EOFError
            for _, kind, held in rights:
                if kind == _socket.SCM_RIGHTS:
                    handed = array.array("i", held[:_DESCRIPTOR])[0]
            data += part
        return bytes(data), handed
