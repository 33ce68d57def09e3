"""What passes between the command and the process that it starts: a `Spec` on the way in, a `Report` on the way out.

Light, since the command loads it at every start.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from reenact.engine.divergence import Compared, Divergence
from reenact.engine.schedule import Choice, Schedule
from reenact.tape.journal import Piece

SPEC = "REENACT_SPEC"
"""The environment variable that holds the spec of a process whose whole program is the run."""

CALL = "REENACT_CALL"
"""As `SPEC`, for a replay that begins when the recorded function or block begins, not with the program."""

CLOSED = "REENACT_CLOSED"
"""The environment variable of a process that a replay starts, and that may not connect before its own begins."""


class Spec(msgspec.Struct, frozen=True):
    """What is asked of the process. `tape` is written to or read from; `report` is where a replay reports.

    `process` is the lane of the process of that run that is replayed; `vault` is handed on to a recording.
    `deep`: the agent's variables count, too. `settings` is the table [tool.reenact] as JSON, and `project` the folder
    that it is from, if any; `boundaries` are functions that are tools, `side_traffic` the patterns of requests that are
    no part of the run. To record may be to answer HTTP from the imported run on the tape `answers`, `by_url` whatever
    its bodies; that reports, too. To explore is to replay by a `schedule`, and to record that on the tape `onto`. To
    resume is to replay `tape`, and to go on with it; so is to fork, in files that are copies, as its tape says
    (`launch.tail`): it is a branch of the tape `parent`, and `key` is for where it asks its models. It may have to
    `keep_files`, see `launch.keeping`. `slip` is where the `launch.slip` is. `probe` is the descriptor of the link to a
    debugger, which holds the replay still where it wants; that may leave `checkpoints`. At the `door`, a socket, it
    asks who it is to be where it goes live, see `launch.parting`.
    """

    mode: Literal["record", "replay", "explore", "resume", "fork"]
    tape: str
    report: str = ""
    process: str = "0"
    observe: bool = False
    hash_seed: str | None = None
    last_piece: Piece | None = None
    settings: str = ""
    project: str = ""
    boundaries: list[str] = []
    side_traffic: list[str] = []
    terminal: tuple[bool, bool, bool] = (False, False, False)
    deep: bool = False
    onto: str = ""
    answers: str = ""
    by_url: bool = False
    schedule: Schedule | None = None
    slip: str = ""
    vault: str = ""
    parent: str = ""
    key: str = ""
    keep_files: bool = False
    probe: int = -1
    checkpoints: bool = False
    door: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether the tape is replayed to its end first, and written on from there."""
        return self.mode in ("resume", "fork")


class Stands(msgspec.Struct, frozen=True, tag=True):
    """The process stands where it goes live. With an `obstacle` it cannot be copied, and is one branch itself."""

    obstacle: str = ""


class Begun(msgspec.Struct, frozen=True, tag=True):
    """A copy of it has begun, or could not, and is gone: for that reason."""

    pid: int
    why: str = ""


class Report(msgspec.Struct):
    """What a replay found. `begun`: it came to the recorded part of the program, `complete`: and to the end of that.

    `enclosed`: the kernel closed the world around it; `unrestored` are files that are not as the recorded run saw them.
    `written` is how many bytes of the output on tape were written again; `marks` is in what the program's marks differ
    from the recorded ones, with how often; `error` is the exception that ended the program. `variables` is what was
    compared of the agent's variables, if that was asked for. `choices` are those of an explored run; it is `lost` if it
    waited for answers that the tape does not hold. `unusable` says why the recorded function could not be called at
    all, and `slug` is that error's. `status` is the exit status with which a process of the run ended itself. `joined`
    are the lanes of the Pythons that it would have started. A resumed run came to be `live`; files that it had changed,
    and that looked otherwise before, have copies `aside`. `unasked` are the events of an imported run that it did not
    ask. `hazards` are those that a branch came to: how often each was done, answered from tape, and refused;
    `withheld` counts its side traffic, by host, that was not sent; `taken` are files that it had written, see
    `launch.keeping`.
    """

    asked: int = 0
    compared: int = 0
    written: int = 0
    divergences: list[Divergence] = []
    drifts: dict[str, int] = {}
    marks: dict[str, int] = {}
    faults: list[str] = []
    begun: bool = False
    complete: bool = False
    cut: bool = False
    error: str = ""
    enclosed: bool = False
    unrestored: list[str] = []
    variables: Compared | None = None
    live: bool = False
    aside: dict[str, str] = {}
    hazards: dict[str, tuple[int, int, int]] = {}
    withheld: dict[str, int] = {}
    taken: dict[str, str] = {}
    choices: list[Choice] = []
    lost: bool = False
    joined: list[str] = []
    unasked: list[int] = []
    status: int | None = None
    unusable: str = ""
    slug: str = ""
