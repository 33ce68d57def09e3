"""Installs the seams: those of the interpreter at once, those of a library when the agent imports it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from reenact.engine.dotted import named
from reenact.engine.lane import muted
from reenact.engine.session import Session
from reenact.errors import UsageError
from reenact.seams import tools
from reenact.seams.concurrency import asyncio as asyncio_seam
from reenact.seams.concurrency import blocking, channels, identity, processes, threads
from reenact.seams.patch import Patches
from reenact.seams.sockets import blocking as sockets
from reenact.seams.sockets import datagrams, looped, tls, transports, trust, waits
from reenact.seams.system import (
    children,
    clock,
    collector,
    descriptors,
    entropy,
    files,
    generators,
    joining,
    listings,
    loop_children,
    machine,
    native,
    output,
    process,
    signals,
    sqlite,
    standard,
    terminal,
    tracebacks,
)
from reenact.seams.system.files import Files
from reenact.seams.system.sending import Senders
from reenact.seams.system.signals import Handlers

Seam = Callable[[ModuleType, Patches], None]


def _httpx(module: ModuleType, patches: Patches) -> None:
    from reenact.seams.http import httpx

    httpx.install(module, patches)


def _urllib3(module: ModuleType, patches: Patches) -> None:
    from reenact.seams.http import urllib3

    urllib3.install(module, patches)


def _aiohttp(module: ModuleType, patches: Patches) -> None:
    from reenact.seams.http import aiohttp

    aiohttp.install(module, patches)


SEAMS: dict[str, Seam] = {
    "httpx": _httpx,
    "httpx2": _httpx,
    "urllib3": _urllib3,
    "aiohttp": _aiohttp,
    "platform": machine.meet_platform,
    "uuid_utils": entropy.install_uuid_utils,
    "uuid_utils.compat": entropy.install_uuid_utils,
    "fastuuid": entropy.install_uuid_utils,
}


class Installed:
    """The seams while they are in place."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._done: set[int] = set()
        self._finder = _Finder(self)
        self._seams = dict(SEAMS)
        self.processes: processes.Processes | None = None
        self.join: joining.Join | None = None
        self.children: children.Children | None = None
        self.recorded: Files | None = None
        self._take: list[Callable[[], object]] = []  # what is done again in a fork that begins a run of its own
        self._shared = self._files = False
        self._tools: dict[str, list[list[str]]] = {}
        self._note: Callable[[str, str], None] | None = None

    def install(self) -> None:
        """Meets the interpreter now and each library as it comes."""
        clock.install(self._patches)
        entropy.install(self._patches)
        generators.install(self._patches)
        output.install(self._patches)
        blocking.install(self._patches)
        threads.install(self._patches)
        asyncio_seam.install(self._patches)
        identity.install(self._patches)
        terminal.install(self._patches)
        tracebacks.install(self._patches)
        sockets.install(self._patches)
        waits.install(self._patches)
        tls.install(self._patches)
        transports.install(self._patches)
        datagrams.install(self._patches)
        looped.install(self._patches)
        for name in self._seams:
            module = sys.modules.get(name)
            if module is not None:
                self.meet(name, module)
        sys.meta_path.insert(0, self._finder)

    def take_process(
        self,
        session: Session,
        was_terminal: tuple[bool, bool, bool],
        recorded: Files | None,
        others: children.Others | None,
    ) -> None:
        """Meets what belongs to a run that is the whole process: generators, terminal, signals, exit, garbage."""
        entropy.start(session)
        terminal.start(session, was_terminal, self._patches)
        standard.install(self._patches, session, was_terminal[0])
        if not session.live:
            trust.install(session, self._patches)
        if session.recording or session.frontier is not None:
            descriptors.install(self._patches, session)
        process.install(self._patches, session)
        tracebacks.meet_hooks(self._patches)
        handlers = Handlers(session)
        handlers.install(self._patches)
        signals.meet_waits(self._patches)
        Senders(session, handlers).install(self._patches)
        collected = collector.start(session, self._patches)
        self._take = [partial(entropy.start, session), handlers.take, collected.take]
        self.recorded = recorded
        if recorded is not None:
            self._take.append(recorded.take)
            native.watch(session, self._patches)
        self._meet_files()
        self.children = children.install(self._patches, session, others, self.join)
        loop_children.install(self._patches, session, self.children)
        self.processes = processes.Processes(session, self.children)
        self._take.append(self.processes.memory.take)
        self._also(self.processes.seams() | channels.Channels(self.processes).seams())

    def take_fork(self, others: children.Others | None) -> None:
        """This process is a fork, and its session one that begins now."""
        for take in self._take:
            take()
        if self.children is not None:
            self.children.others = others

    def _meet_files(self) -> None:
        if not self._files:
            self._files = True
            files.install(self._patches)
            listings.install(self._patches)
            sqlite.install(self._patches)

    def become(self, uname: Sequence[str], processors: int | None, usable: Sequence[int]) -> None:
        """What the agent asks of this machine is answered as the recorded one did (replay)."""
        machine.become(self._patches, uname, processors, usable)

    def bound(self, boundaries: Iterable[str], note: Callable[[str, str], None] | None = None) -> None:
        """Makes these functions tools, now or when their modules are imported; `note` is told of what is not there."""
        self._note = note
        for path in boundaries:
            name, names = named(path)
            if names not in self._tools.setdefault(name, []):
                self._tools[name].append(names)
                if name in sys.modules:
                    self._meet_tool(sys.modules[name], names)

    def met(self, name: str) -> bool:
        """Whether there is something to meet in a module of that name."""
        return name in self._seams or name in self._tools

    def _also(self, seams: Mapping[str, Seam]) -> None:
        """Meets these modules, too."""
        self._seams.update(seams)
        for name in seams:
            if name in sys.modules:
                self.meet(name, sys.modules[name])

    def share_process(self) -> None:
        """Meets what runs share with each other and with the rest of a long-lived process."""
        output.meet_streams(self._patches)
        if not self._shared:
            self._shared = True
            entropy.install_shared(self._patches)
            self._also({"tempfile": entropy.meet_tempfile_shared})
            self._meet_files()
            sqlite.install_shared(self._patches)
            children.meet_shared(self._patches)
            if self.processes is None:
                self._also(dict.fromkeys(processes.STARTERS, processes.meet_shared))

    def meet(self, name: str, module: ModuleType) -> None:
        """Puts the seam of one library in place, once per module object: two names may be one module."""
        if id(module) not in self._done:
            self._done.add(id(module))
            with muted():
                if name in self._seams:
                    self._seams[name](module, self._patches)
                for names in self._tools.get(name, ()):
                    self._meet_tool(module, names)

    def _meet_tool(self, module: ModuleType, names: list[str]) -> None:
        try:
            tools.meet(module, names, self._patches)
        except UsageError as error:
            if self._note is not None:
                self._note("boundary", f"[tool.reenact] boundaries: {error}")

    def remove(self) -> None:
        """Takes everything away again."""
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._patches.undo()
        self._done.clear()


class _Finder:
    """Stands before the import system and calls a library's seam when the library has been imported."""

    def __init__(self, installed: Installed) -> None:
        self._installed = installed
        self._busy: set[str] = set()

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if not self._installed.met(name) or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, name, self._installed)  # type: ignore[assignment]
        return spec


class _Loader:
    """Loads a library as its own loader does, then lets the seam meet it."""

    def __init__(self, inner: Any, name: str, installed: Installed) -> None:
        self._inner = inner
        self._name = name
        self._installed = installed

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._inner.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        self._installed.meet(self._name, sys.modules.get(self._name, module))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
