"""Every error that reenact raises.

    ReenactError
    |- UsageError            the command or call cannot be carried out as asked (exit status 2)
    |  |- RunNotFoundError   no run of that name in the store
    |  |- ArgumentError      what a recorded function was given cannot be kept, or made again
    |  |- EditError          an answer or a request cannot be changed as asked
    |  |- MissingExtraError  a library is needed that is not installed
    |  `- ForeignError       a file of another tool cannot be imported
    |- TapeError             a tape cannot be used (exit status 2)
    |  |- TapeCorruptError   its bytes are not what was written
    |  |- TapeTooLargeError  reading it would take more memory than a tape of its size may
    |  |- TapeUnwrittenError  it could not be written, or not be closed
    |  |- TapeVersionError   written by a newer reenact
    |  `- SignatureError     it is not signed by the key that was asked for, or wrongly (exit status 1)
    |- InternalError         reenact itself failed (exit status 70)
    DivergenceError          the replayed program asked something other than what the tape holds (exit status 1)

`DivergenceError` is no `Exception`: agents and SDKs catch those, and would retry or go on.
"""

from __future__ import annotations

PAGE = "docs/errors.md"


class ReenactError(Exception):
    """Base of the errors that are about reenact itself; `slug` names the section of PAGE."""

    slug = "error"
    exit_status = 2


class UsageError(ReenactError):
    """What was asked for cannot be done as asked."""

    slug = "usage"


class RunNotFoundError(UsageError):
    """No run, or more than one, answers to the given name."""

    slug = "run-not-found"


class ArgumentError(UsageError):
    """What a recorded function was given cannot be kept, or not be made again."""

    slug = "argument"


class EditError(UsageError):
    """What a fork is to change of an answer, or of a request, cannot be changed so."""

    slug = "edit"


class MissingExtraError(UsageError):
    """A library that this needs is not installed."""

    slug = "missing-extra"

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed; install it with: pip install 'reenact[{extra}]'")


class ForeignError(UsageError):
    """A file that another tool has made is not as it should be, or of no sort that can be read."""

    slug = "import"


class TapeError(ReenactError):
    """A tape cannot be used."""

    slug = "tape"


class TapeCorruptError(TapeError):
    """The bytes of a tape are not the bytes that were written."""

    slug = "tape-corrupt"


class TapeUnwrittenError(TapeError):
    """A tape could not be written, or not be closed: its disk is full, say. What was committed before is on it.

    `status` is the exit status of the program, if that has run to its end all the same.
    """

    slug = "tape-unwritten"

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class TapeTooLargeError(TapeCorruptError):
    """What a tape unpacks to is out of proportion to its size, as that of one which is made to fill the memory."""

    slug = "tape-too-large"


class TapeVersionError(TapeError):
    """The tape was written in a format that this version does not know."""

    slug = "tape-version"


class SignatureError(TapeError):
    """A tape is not signed by whom it should be, or a signature on it is wrong."""

    slug = "signature"
    exit_status = 1


class InternalError(ReenactError):
    """A fault of reenact's own, or of the machine, that no other error stands for."""

    slug = "internal"
    exit_status = 70  # EX_SOFTWARE of sysexits.h


class DivergenceError(BaseException):
    """The replayed program left the path that the tape holds."""

    slug = "divergence"
    exit_status = 1
