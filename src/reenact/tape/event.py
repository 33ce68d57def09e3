"""The records of a tape's journal: what was asked, what came back, in the order in which it happened.

Every record is data. The journal is their concatenation in msgpack, and its order is the order in
which the run saw things: the n-th `Part`, `AsidePart`, `Timer`, `Signal` or `Expired` of the journal is the run's n-th
tick.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec


class Kind(IntEnum):
    """What sort of boundary an event crossed."""

    HTTP = 1
    SLEEP = 2
    STDIN = 3
    WAIT = 4
    CONNECT = 5
    CLOSE = 6
    EXEC = 7
    PROCESS = 8
    PIPE = 9
    EXIT = 10
    TOOL = 11
    SOCKET = 12


class DrawKind(IntEnum):
    """Where a draw was read from. Clock values are ns (int) or s (float); entropy is bytes."""

    TIME = 1
    TIME_NS = 2
    MONOTONIC = 3
    MONOTONIC_NS = 4
    PERF_COUNTER = 5
    PERF_COUNTER_NS = 6
    PROCESS_TIME = 7
    PROCESS_TIME_NS = 8
    THREAD_TIME = 9
    THREAD_TIME_NS = 10
    CLOCK_GETTIME = 11
    CLOCK_GETTIME_NS = 12
    LOOP_TIME = 13
    ENTROPY = 20
    UUID = 21
    RANDOM = 22
    GETRANDBITS = 23
    TERMINAL_SIZE = 30
    PID = 31
    LISTING = 32


class PartKind(IntEnum):
    """What came back: a response begins, goes on, ends, fails, or is given up by the agent."""

    HEAD = 1
    CHUNK = 2
    END = 3
    FAILURE = 4
    ABANDONED = 5
    VALUE = 6
    CLOSED = 7
    OPENED = 8
    GIVEN_UP = 9
    CANCELLED = 10
    FALTERED = 11


NO_TICK = (PartKind.ABANDONED, PartKind.CLOSED)
"""Parts that are the agent's own doing: nothing arrives with them. CLOSED is at the answer's end, ABANDONED before it.

GIVEN_UP is before the end too, but the agent waited until the connection was let go, so that it is a tick; and so is
CANCELLED: the task that waited was cancelled, and this is when that was over. FALTERED is an exception after which more
may come: nothing came in time, or without waiting.
"""

LAST = (
    PartKind.END,
    PartKind.FAILURE,
    PartKind.ABANDONED,
    PartKind.VALUE,
    PartKind.CLOSED,
    PartKind.GIVEN_UP,
    PartKind.CANCELLED,
)
"""Parts after which nothing more comes."""


class Stream(IntEnum):
    """An output stream of the program, by file descriptor."""

    STDOUT = 1
    STDERR = 2


class Sight(IntEnum):
    """What stands at a path."""

    NOTHING = 0
    FILE = 1
    FOLDER = 2
    OTHER = 3
    LINK = 4


class MarkKind(IntEnum):
    """What a program says: that an agent or step begins, ends, or is what a lane is in; the run's session, its tags."""

    AGENT = 1
    STEP = 2
    ENDED = 3
    INSIDE = 4
    SESSION = 5
    TAGS = 6


class Giver(IntEnum):
    """Who answered a call of a branch in the place of the world: a person, its parent's tape, or a refusal."""

    PERSON = 1
    PARENT = 2
    REFUSAL = 3


class Record(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base of everything in a journal."""


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """A body as the difference to an earlier one: `base[:prefix] + middle + base[len-suffix:]`.

    `base` is the event whose request body it builds on, or -1 for none.
    """

    base: int
    prefix: int
    suffix: int
    middle: bytes


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """A line that an exception came through, as a traceback shows it. Columns are bytes; None where not known."""

    file: str
    name: str
    line: int
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


class Failed(msgspec.Struct, frozen=True, array_like=True):
    """An exception as data. `module:name` is looked up among the classes that a seam allows, never imported.

    `nested` are those of its arguments, by position, that are exceptions themselves. `frames` are what it came through,
    outermost first, without the agent's own.
    """

    module: str
    name: str
    args: list[str | int | float | bool | None]
    attributes: dict[str, str | int | float | bool | None]
    cause: Failed | None = None
    suppressed: bool = False
    nested: dict[int, Failed] = {}
    frames: list[Frame] = []


class Start(Record, frozen=True, array_like=True, tag=0):
    """First record: the run's manifest as JSON (see `launch.program.Manifest`)."""

    manifest: bytes


class LaneBorn(Record, frozen=True, array_like=True, tag=1):
    """`index` stands for the lane with this birth path from here on."""

    index: int
    path: str
    name: str


class SiteNamed(Record, frozen=True, array_like=True, tag=2):
    """`index` stands for this place in the program's source: `module:function`, file and line."""

    index: int
    place: str
    file: str
    line: int


class Began(Record, frozen=True, array_like=True, tag=3):
    """The agent asked. `at` is ns since the run began. `name` is the method and URL of HTTP, else a label.

    `head` holds the request's headers (JSON pairs) or the arguments of another kind of call: `over`, of what is done
    with a connection, is the event of that one.
    """

    event: int
    lane: int
    kind: int
    name: str
    site: int
    at: int
    head: bytes
    body: Delta


class Part(Record, frozen=True, array_like=True, tag=4):
    """A piece of the answer, at the moment when the agent got it."""

    event: int
    kind: int
    at: int
    data: bytes
    failed: Failed | None = None


class Timer(Record, frozen=True, array_like=True, tag=5):
    """The timers of an event loop that were due at loop time `when` (s) fired. `loop` counts the run's loops from 0."""

    loop: int
    when: float
    count: int


class Draws(Record, frozen=True, array_like=True, tag=6):
    """What a lane read from clock and entropy since its last record: `[kind, site, values in order]`."""

    lane: int
    draws: list[tuple[int, int, list[int | float | bytes | list[int]]]]


class Wrote(Record, frozen=True, array_like=True, tag=7):
    """A lane wrote these bytes to an output stream."""

    lane: int
    stream: int
    data: bytes


class Signal(Record, frozen=True, array_like=True, tag=8):
    """A signal reached a handler of the program.

    On a thread without an event loop: while `event` was under way, or (-1) after the main lane's `lane_events`-th.
    With a loop both are -1, and the signal is a tick: it was let in when the loop came to rest.
    """

    number: int
    event: int
    lane_events: int


class Note(Record, frozen=True, array_like=True, tag=9):
    """Something to be told of the recording: `slug` says what sort, `text` is for people."""

    slug: str
    text: str
    site: int


class Ended(Record, frozen=True, array_like=True, tag=10):
    """The program came to its end, or ended its process itself; `error` is the exception that ended it."""

    at: int
    error: Failed | None
    result: bytes = b""


UNKNOWN_STATUS = -999
"""The exit status of a process whose end nobody saw."""


class Exited(Record, frozen=True, array_like=True, tag=11):
    """Last record: the exit status (negative: killed by that signal), -999 if not known."""

    status: int


class Handed(Record, frozen=True, array_like=True, tag=13):
    """Before the next tick a strand that held the baton was passed by: it was blocked or busy for too long."""


class Expired(Record, frozen=True, array_like=True, tag=14):
    """A wait with a timeout, of a thread in this lane, ran out."""

    lane: int


class Spun(Record, frozen=True, array_like=True, tag=15):
    """The next tick was let in although the event loop was not at rest, after it had turned this often without."""

    turns: int


class Collected(Record, frozen=True, array_like=True, tag=16):
    """Before its next event the lane collected what is garbage up to this generation; finalizers ran in the lane."""

    lane: int
    generation: int


class Snapshot(Record, frozen=True, array_like=True, tag=12):
    """State of the interpreter at a moment, by name: the starting state of a generator, say."""

    name: str
    data: bytes


class Saw(Record, frozen=True, array_like=True, tag=17):
    """What the run found at a path, before it had touched it itself. `mtime` is ns since 1970.

    `digest` (SHA-256, with a `Content` before) is there when a file was read, `names` when a folder was listed; either
    may come after a record of the same path that had none. Of a symbolic link, `names` is what it leads to.
    """

    path: str
    kind: int
    mode: int = 0
    size: int = 0
    mtime: int = 0
    digest: bytes = b""
    names: list[str] | None = None


class Content(Record, frozen=True, array_like=True, tag=18):
    """What a file held, by its SHA-256."""

    digest: bytes
    data: bytes


class Changed(Record, frozen=True, array_like=True, tag=20):
    """What other processes had made of a path when the run went on after that event, which was the end of a child."""

    event: int
    found: Saw


class Left(Record, frozen=True, array_like=True, tag=19):
    """How the run left a path that it had touched."""

    path: str
    kind: int
    mode: int = 0
    size: int = 0
    digest: bytes = b""


class Again(Record, frozen=True, array_like=True, tag=26):
    """What others had made of a path when the run met it for the `meeting`-th time (from 1), and it had seen it before.

    A path is met when it is looked at, opened, listed or changed. Others are other runs of the process, the rest of it,
    and any process that the run did not start.
    """

    meeting: int
    found: Saw


class Aside(Record, frozen=True, array_like=True, tag=21):
    """A request that is side traffic began: it is counted, and what was asked is not kept."""

    aside: int
    lane: int
    host: str


class AsidePart(Record, frozen=True, array_like=True, tag=22):
    """A piece of the answer to side traffic came: a tick like any, with no content but a head's `status`."""

    aside: int
    kind: int
    status: int = 0
    failed: Failed | None = None


LOCALS_SALT = "locals"
"""The snapshot with the salt of the digests of variables. A tape that was recorded without them has none."""


class Locals(Record, frozen=True, array_like=True, tag=23):
    """What the agent's own variables held when the lane made its next event, by their digests (`engine.digest`).

    A frame is `[site of its function, digest by name]`, the outermost first. Their salt is the snapshot "locals"; a
    tape without it was recorded without --deep, and has none of these.
    """

    lane: int
    frames: list[tuple[int, dict[str, bytes]]]


class Mark(Record, frozen=True, array_like=True, tag=25):
    """What the program says of what it does, by `reenact.agent`, `step`, `session` and `tag`. It is no tick.

    `mark` is the number of an agent or step, counted over the run from 0, and -1 stands for none. AGENT and STEP begin
    one `within` another. ENDED ends it; `name` is then the exception that it ended by. INSIDE: from its next event on
    the lane is in it. SESSION names the run's session, and TAGS adds `attributes` to its tags.
    """

    lane: int
    kind: int
    at: int
    mark: int = -1
    within: int = -1
    site: int = -1
    name: str = ""
    attributes: dict[str, str | int | float | bool | None] = {}


OUTPUTS = "outputs"
"""The snapshot of a process that says which streams of its parent its stdout and stderr are: two digits, 0 for none."""

VISITED = "visited"
"""The slug of the note that others have connected to the program: what they sent is not on tape."""


class Child(Record, frozen=True, array_like=True, tag=27):
    """A Python that the run started, by that event, records itself; its main lane is that `lane`.

    With a `status` (as of `Exited`), it has ended by that event.
    """

    event: int
    lane: str
    status: int | None = None


class Kin(Record, frozen=True, array_like=True, tag=24):
    """A stretch of the journal of a process that the run has started: `data` is a msgpack array of such records.

    They stand together and in order; a long journal is cut into several. `lane` is the birth path of the process's main
    lane, which the lane that started it has borne, and `name` is the process's. Times in it are ns since the run began;
    events, lanes and sites are numbered anew. Processes that it has started itself are among its own records.
    """

    lane: str
    name: str
    data: bytes


class Slice(Record, frozen=True, array_like=True, tag=32):
    """The data of the next record that has any (a request's body, a part, output, a file) begins with this.

    Long data stands on tape in slices, so that nobody has to hold all of it to write a piece of the journal.
    """

    data: bytes


class Branch(Record, frozen=True, array_like=True, tag=31):
    """Second record of a run that was forked from another: what that one did up to `event`, this one did, too.

    `parent` is the id of that run, `digest` the last of its chain. `edits` are answers that stand in the place of the
    parent's, by their events; where none is for `event`, the answer to that is this run's own. `before`: it was not
    even asked as it was there, or if it is -1, the parent had come to its end; what was written is all this run's own.
    `step` is the parent's step that this belongs to, 0 for none, and `what` says in a few words what is other there.
    The manifest says only what differs from the parent's.
    """

    parent: str
    digest: bytes
    event: int
    edits: list[Part] = []
    step: int = 0
    what: str = ""
    before: bool = False


class Sent(Record, frozen=True, array_like=True, tag=34):
    """What was sent in the place of a request, in a branch that says so: `name` is its method and URL.

    The body is as one of a request, built upon those of other such records, by their numbers in the journal from 0.
    """

    event: int
    name: str
    body: Delta


class Given(Record, frozen=True, array_like=True, tag=41):
    """In a branch: that it was not the world that answered this event, and who (`Giver`)."""

    event: int
    giver: int


class Moved(Record, frozen=True, array_like=True, tag=45):
    """What the tool of this event, whose outcome comes next, made of a generator: the state in which it left it.

    `generator` is "random" (the one of that module), "numpy.random" (the one of that), or of one that the program made
    the lane, the place (`module:function`) and how many were made there before. A state is 625 unsigned 32-bit numbers,
    little-endian, and a float where the next one of `gauss` is there; of numpy it is JSON, as `get_state` gives it.
    """

    event: int
    generator: str
    state: bytes


class Stored(Record, frozen=True, array_like=True, tag=46):
    """What the program has put into a store whose history is the tape: `store` says which, and how `data` is written.

    "langgraph": one change of a checkpointer (`reenact.langgraph`), in msgpack, with values as LangGraph wrote them.
    """

    lane: int
    store: str
    data: bytes


class Unread(Record, frozen=True, array_like=True, tag=33):
    """Of the draws of this lane so far, of a kind and at a place (`module:function`), the last `count` nobody has read.

    So it is where a run goes on from the end of a tape that had drawn more by then.
    """

    lane: int
    kind: int
    place: str
    count: int


class Redacted(Record, frozen=True, array_like=True, tag=28):
    """What stands on this tape in the place of secrets, each as long as its secret, in every form that it has here.

    `lost` counts those of which a replayed program gets what stands for them, and may look at what they said: contents
    that were redacted by a pattern in what came from outside.
    """

    placeholders: list[bytes]
    lost: int = 0


AnyRecord = (
    Start
    | LaneBorn
    | SiteNamed
    | Began
    | Part
    | Timer
    | Draws
    | Wrote
    | Signal
    | Note
    | Ended
    | Exited
    | Snapshot
    | Handed
    | Expired
    | Spun
    | Collected
    | Saw
    | Content
    | Changed
    | Left
    | Aside
    | AsidePart
    | Locals
    | Mark
    | Child
    | Kin
    | Again
    | Slice
    | Redacted
    | Branch
    | Unread
    | Sent
    | Given
    | Moved
    | Stored
)
