"""The model server: a policy behind the wire formats of the providers."""

from __future__ import annotations

from dataclasses import replace

from reenact.testing.coding import Coding
from reenact.testing.host import Host
from reenact.testing.policy import Policy
from reenact.testing.reply import Call, Calls, Drop, Fail, Raw, Reply, ResetMidStream, Say, SlowFirstByte
from reenact.testing.request import Request
from reenact.testing.response import HangUp, Pace, Response
from reenact.testing.turn import Turn
from reenact.testing.wire.catalog import aside
from reenact.testing.wire.dialect import Dialect
from reenact.testing.wire.route import Routes
from reenact.testing.wire.stamp import Stamp

# What code that walks a JSON value of an unexpected shape raises.
_SHAPE_ERRORS = (AttributeError, KeyError, TypeError, ValueError)


class ModelServer(Host):
    """Answers model requests by a policy while the `with` block runs.

    `chunk_delay` seconds pass between the chunks of a stream; `encoding` is used for clients that
    accept it; ids and times in answers follow from `seed` and the index of the request. An
    exception of the policy is answered with status 500 and raised again at the end of the block.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        port: int = 0,
        seed: int = 0,
        chunk_delay: float = 0.0,
        encoding: Coding | None = None,
    ) -> None:
        super().__init__(port, encoding)
        self._policy = policy
        self._seed = seed
        self._pace = Pace(between=chunk_delay)
        self._routes = Routes()

    def _answer(self, request: Request, index: int) -> Response | HangUp:
        stamp = Stamp(self._seed, index)
        dialect = self._routes.of(request)
        if dialect is None:
            return self._coded(request, self._beside(request, stamp))
        try:
            turn = dialect.read(request, index)
        except _SHAPE_ERRORS as error:
            return dialect.error(Fail(400, message=f"unreadable request: {error}", should_retry=False), stamp)
        try:
            return self._deliver(dialect, turn, self._policy(turn), stamp, self._pace)
        except Exception as error:  # noqa: BLE001  the policy is the user's: told to the client, and raised on exit
            self._failed(error)
            message = f"the policy failed: {type(error).__name__}: {error}"
            return dialect.error(Fail(500, message=message, should_retry=False), stamp)

    def _beside(self, request: Request, stamp: Stamp) -> Response:
        refuse = self._routes.nearest(request).error
        try:
            response = aside(request, stamp)
        except _SHAPE_ERRORS as error:
            return refuse(Fail(400, message=str(error), should_retry=False), stamp)
        if response is not None:
            return response
        message = f"no such endpoint on the model server: {request.method} {request.target}"
        return refuse(Fail(404, message=message, should_retry=False), stamp)

    def _deliver(self, dialect: Dialect, turn: Turn, reply: Reply, stamp: Stamp, pace: Pace) -> Response | HangUp:
        match reply:
            case SlowFirstByte(inner, seconds):
                slower = replace(pace, first_byte=pace.first_byte + seconds)
                return self._deliver(dialect, turn, inner, stamp, slower)
            case ResetMidStream(inner, after_chunks):
                return self._deliver(dialect, turn, inner, stamp, replace(pace, reset_after=after_chunks))
            case Drop():
                return HangUp(pace.first_byte)
            case Raw(status, headers, body):
                return Response(status, headers, body, pace)
            case Fail():
                return self._coded(turn.request, replace(dialect.error(reply, stamp), pace=pace))
            case Say() | Call() | Calls():
                return self._coded(turn.request, replace(dialect.write(turn, reply, stamp), pace=pace))
            case _:
                message = f"the policy returned what is not a reply: {reply!r}"
                raise TypeError(message)
