"""The secrets of a run, held in memory only, and what stands for each on its tape.

Everything that is written goes through `encode`: there is one place where a secret could get past. What stands for one
is as long as it is, so lengths, offsets and deltas hold, whatever holds it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote_plus

from reenact import _real
from reenact.tape import nature
from reenact.tape.contents import Contents
from reenact.tape.event import AnyRecord, Content, Part, Redacted, Slice
from reenact.tape.forms import Form, forms
from reenact.tape.journal import encode, weight
from reenact.tape.placeholder import placeholder
from reenact.tape.redact import PLACEHOLDER, REDACTED, redact_header
from reenact.tape.sealed import Sealed
from reenact.tape.streams import Streams, rewritten, texts

Worth = Callable[[bytes], bool]
Pair = tuple[str, str]

_KEY: Final = 16
_HEADERS: Final = 256
_LONG: Final = 8 * 1024 * 1024  # bytes of one record
_BEGINNING: Final = 2  # bytes of a secret by which its beginning is known
_TAIL: Final = 512  # bytes at the end of a text in which a secret that nobody knows is looked for


class Vault:
    """What is secret in one run. Its threads share it, and its processes by `hand_on`.

    `key` is one for all processes of a run, so that they write the same for the same secret. In `book`, sealed, is what
    they have learned. `contents` finds what else is to be redacted: by patterns, by detectors. A vault that does not
    learn is that of a replay, which gets what stands for the secrets; it knows those that the replay has shown.
    """

    def __init__(
        self, key: bytes = b"", book: Path | None = None, contents: Contents | None = None, *, learns: bool = True
    ) -> None:
        self.key = key or _real.urandom(_KEY)
        self.book: Path | None = None
        self.page = ""  # where it is handed on to who is not to be told by words
        self.contents = contents
        self.late = False  # something may have been written with a secret in it
        self.longest = 0
        self.spoiled = 0  # answers in which something else stands for a secret than elsewhere
        self._sealed: Sealed | None = None
        self._learns = learns
        self._forms: dict[bytes, Form] = {}
        self._needles: tuple[tuple[bytes, Form], ...] = ()
        self._stands = {REDACTED.encode(), quote_plus(REDACTED).encode(), PLACEHOLDER.encode()}
        self._headers: dict[Pair, Pair] = {}  # those of late, with what is kept of each
        self._of_contents: set[bytes] = set()  # what stands for contents
        self._told: set[bytes] = set()  # what the tape has to say of what stands on it, and how much of that it does
        self._written = 0
        self._variables = -1
        self._wrote = False
        self._streams = Streams()
        self._digests: dict[bytes, bytes] = {}
        if book is not None:
            self.share(book)

    def share(self, book: Path) -> None:
        """What is learned from now on is in the book."""
        self.book, self._sealed = book, Sealed(book, self.key)

    @classmethod
    def handed(cls, text: str) -> Vault:
        """That of another process of the same run, which has handed it on."""
        key, book, page, patterns, pii = json.loads(text)
        contents = Contents(patterns, pii=pii) if patterns or pii else None
        vault = cls(bytes.fromhex(key), Path(book) if book else None, contents)
        vault.page = page
        vault.learn_from_others()
        return vault

    def go_on_as(self, text: str) -> None:
        """This process goes on as the one that this was handed to, with all that it has learned."""
        _, book, self.page, *_ = json.loads(text)
        learned = Sealed(self.book, self.key).read() if self.book is not None else []
        self.share(Path(book))
        if learned and self._sealed is not None:
            self._sealed.add(learned)

    def hand_on(self) -> str:
        """For `handed`."""
        patterns, pii = (self.contents.patterns, self.contents.pii) if self.contents is not None else ((), False)
        return json.dumps([self.key.hex(), str(self.book or ""), self.page, patterns, pii])

    # What is secret

    @property
    def taken(self) -> set[bytes]:
        """What stands somewhere for a secret by now, in each form that it has there."""
        return self._told

    @property
    def count(self) -> int:
        """How many forms of secrets are known."""
        return len(self._forms)

    def learn(self, values: Iterable[bytes], worth: Worth = nature.is_worth, *, tell: bool = True) -> bool:
        """These are secrets from now on, as far as they are `worth` it; whether one of them is new.

        `tell` the other processes of the run.
        """
        if not self._learns:
            return False
        news = [value for value in values if not self._is_known(value) and worth(value)]
        for value in news:
            self.bind(value, placeholder(value, self.key))
        if news:
            self.late = self.late or self._wrote
            if tell and self._sealed is not None:
                self._sealed.add(news)
        return bool(news)

    def _is_known(self, value: bytes) -> bool:
        """Whether it is a secret that is known, or has been taken out of it already."""
        return value in self._forms or any(stands in value for stands in tuple(self._stands))

    def leave(self, stands: Iterable[bytes]) -> None:
        """These stand for secrets already."""
        self._stands.update(stands)

    def bind(self, value: bytes, stands: bytes) -> None:
        """That stands for this value, in whatever form it is written."""
        for written, form in forms(value, stands):
            self._forms.setdefault(written, form)
            self._stands.add(form.stands)
        self._needles = tuple(sorted(self._forms.items(), key=lambda pair: len(pair[0]), reverse=True))
        self.longest = len(self._needles[0][0]) if self._needles else 0

    def learn_headers(self, headers: Iterable[Pair]) -> tuple[Pair, ...]:
        """As `learn`, of the headers of a request, mostly those of the one before. They come back redacted."""
        kept: list[Pair] = []
        for pair in headers:
            met = self._headers.get(pair)
            kept.append(self._meet(pair) if met is None else met)
        return tuple(kept)

    def _meet(self, header: Pair) -> Pair:
        """A header that has not been met of late."""
        kept = redact_header(*header)
        if kept != header:
            self.learn(nature.of_headers([header]))
        if len(self._headers) >= _HEADERS:
            self._headers.clear()
        self._headers[header] = kept
        return kept

    def learn_environment(self, environment: Mapping[str, str], *, tell: bool | None = None) -> None:
        """As `learn`, of the variables that are secret by their names: a program may get more of them as it runs.

        With those that it begins with everybody begins, unless they are to be told.
        """
        if self._learns and len(environment) != self._variables:
            tell = self._variables >= 0 if tell is None else tell
            self._variables = len(environment)
            self.learn(nature.of_environment(environment), nature.is_long, tell=tell)

    def learn_from_others(self) -> bool:
        """As `learn`, of what other processes of the run have learned; whether any of that may be on tape."""
        if self._sealed is None:
            return False
        entries = self._sealed.read()
        return self.learn(entries, bool, tell=False) or b"" in entries

    def stands_for(self, value: str) -> str:
        """A value that is secret by its name as it stands there, however short it is."""
        data = os.fsencode(value)
        secrets = [*nature.of_variable(value)]
        self.learn(secrets, nature.is_long)
        for secret in sorted(secrets, key=len, reverse=True):
            stands = placeholder(secret, self.key)
            data = data.replace(secret, stands)
            self._told.add(stands)
        return os.fsdecode(data)

    def discover(self, data: bytes) -> None:
        """Learns what is secret in a text by the names in it, and what is to be redacted of its content."""
        if self._learns:
            self.learn(nature.of_text(data))
            self.discover_contents(data)

    def discover_contents(self, data: bytes) -> None:
        """The latter alone."""
        if self._learns and self.contents is not None:
            found = [*self.contents(data)]
            self.learn(found, bool)
            self._of_contents.update(placeholder(one, self.key) for one in found)

    def look_through(self, records: Sequence[AnyRecord], raw: bytes) -> None:
        """As `discover`, of records, which are written as `raw`."""
        if self._learns:
            secrets = [*nature.of_text(raw)]
            if secrets:
                self.learn(secrets)
            if self.contents is not None:
                for text in texts(records):
                    self.discover_contents(text)

    def begin_anew(self) -> None:
        """A process has been forked: what it is to write is another journal."""
        self._streams, self._told, self._digests = Streams(), set(), {}
        self._wrote, self._written = False, 0

    # What may be written

    def clean(self, data: bytes) -> bytes:
        """The same without secrets, as long as it was."""
        for written, form in self._needles:
            if written in data:
                data = form.put(data, written)
                self._told.add(form.stands)
        return data

    def clean_text(self, text: str) -> str:
        """As `clean`."""
        data = text.encode("utf-8", "surrogatepass")
        cleaned = self.clean(data)
        return text if cleaned is data else cleaned.decode("utf-8", "surrogatepass")

    def clean_file(self, path: str, content: bytes) -> bytes:
        """As `clean`, of a file, whose name may say that it holds credentials."""
        self.learn(nature.of_file(path, content), nature.is_long)
        return self.clean(content)

    def stands_in(self, data: bytes) -> bool:
        """Whether something in it stands for a secret."""
        return any(stands in data for stands in self._stands)

    def spoil(self) -> None:
        """What stands for a secret in an answer is not what stands for it elsewhere: no replay is exact."""
        self.spoiled += 1

    def finish(self) -> None:
        """Nothing more is written."""
        self._streams.finish(self)
        if self._streams.torn:
            self._tell_of_torn()

    def holds(self, data: bytes) -> bool:
        """Whether there is a secret in it."""
        for written, _ in self._needles:  # noqa: SIM110  a generator costs more than what it asks, and this is asked often
            if written in data:
                return True
        return False

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets stand."""
        found: list[tuple[int, int]] = []
        for written, _ in self._needles:
            at = data.find(written)
            while at >= 0:
                found.append((at, at + len(written)))
                at = data.find(written, at + 1)
        return found

    def ends_in_secret(self, text: bytes) -> bool:
        """Whether it ends with a secret that may go on, or with the beginning of one."""
        tail = text[-max(self.longest, _TAIL) :]
        for written, _ in self._needles:
            at = tail.rfind(written[:_BEGINNING])
            while at >= 0:
                if written.startswith(tail[at:]):
                    return True
                at = tail.rfind(written[:_BEGINNING], 0, at + _BEGINNING - 1)
        found = [
            *nature.of_text(tail),
            *nature.of_text(tail + b'"'),
            *(self.contents(tail) if self.contents is not None else ()),
        ]
        return any(map(tail.endswith, found))

    def are_cut(self, records: Sequence[AnyRecord]) -> bool:
        """Whether one of the answers that go on with these records, which are still to come, ends within a secret."""
        return self._streams.are_cut(records, self)

    def encode(self, records: Sequence[AnyRecord]) -> bytes:
        """The records as they are written."""
        raw = encode(records)
        kept = self._kept(records, raw)
        return raw if kept is records else encode(kept)

    def cleaned(self, records: Sequence[AnyRecord]) -> Sequence[AnyRecord]:
        """As `encode`, of much, which is written bit by bit. What is very long is not looked through for names."""
        short = [record for record in records if weight(record) <= _LONG]
        return self._kept(records, encode(short), whole=len(short) == len(records))

    def _kept(self, records: Sequence[AnyRecord], raw: bytes, *, whole: bool = True) -> Sequence[AnyRecord]:
        """The records without secrets: the same ones where there are none. `raw` is what is looked through of them."""
        self.learn_environment(os.environ)
        found = self._streams.pieces(records)
        together = found.together if found.whole or found.cut else None
        if together:  # they are looked through as what they are the pieces of
            alone = [record for at, record in enumerate(records) if at not in together]
            raw = encode(alone)
            self.look_through(alone, raw)
        else:
            self.look_through(records, raw)
        self._wrote = True
        joined = self._streams.cleaned(records, self, found) if any(found) else records
        if self._streams.torn:
            self._tell_of_torn()
        if joined is records and len(self._told) == self._written and whole and not self.holds(raw):
            return records
        kept = [self._rewritten(record) for record in joined]
        lost, self.spoiled = self.lost(kept) + self.spoiled, 0
        if lost or len(self._told) > self._written:
            self._written = len(self._told)
            kept.append(Redacted(sorted(self._told), lost))
        return kept

    def _tell_of_torn(self) -> None:
        self._streams.torn, self.late = False, True
        if self._sealed is not None:
            self._sealed.add([b""])

    def _rewritten(self, record: AnyRecord) -> AnyRecord:
        """A slice is of what has been rewritten before it was cut."""
        return record if type(record) is Slice else rewritten(record, self.clean, self._digests)

    def lost(self, records: Iterable[AnyRecord]) -> int:
        """In how many of them, which came from outside, stands something for a content."""
        if not self._of_contents:
            return 0
        came = (record.data for record in records if isinstance(record, Part | Content))
        return sum(any(stands in data for stands in self._of_contents) for data in came)

    def told(self, records: Sequence[AnyRecord]) -> Redacted:
        """What the records have to say of what stands in them."""
        before = [record for record in records if isinstance(record, Redacted)]
        told = self._told.union(*(record.placeholders for record in before))
        return Redacted(sorted(told), max(self.lost(records) + self.spoiled, sum(record.lost for record in before)))
