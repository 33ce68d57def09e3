"""Named normalizers: they take out of a request what may differ between two runs that are the same.

Both sides go through them before they are compared, so nothing here ever changes what is sent or kept on tape.
Method and URL are always compared; of the URL only named query parameters can be taken out.
"""

from __future__ import annotations

import fnmatch
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final
from urllib.parse import unquote_plus

import msgspec

from reenact.engine.divergence import Request
from reenact.errors import UsageError

Rewrite = Callable[[Request], Request]


class NormalizerError(UsageError, ValueError):
    """A normalizer cannot be used: its entry in pyproject.toml is wrong, or its function failed."""

    slug = "normalizer"


class Strip(msgspec.Struct, frozen=True, eq=False):
    """Takes out headers and query parameters by their lower-case name or the start of it."""

    name: str
    headers: frozenset[str] = frozenset()
    header_starts: tuple[str, ...] = ()
    parameters: frozenset[str] = frozenset()
    parameter_starts: tuple[str, ...] = ()

    def drops_header(self, lowered: str) -> bool:
        """Whether a header of this lower-case name is taken out."""
        return lowered in self.headers or lowered.startswith(self.header_starts)

    def drops_parameter(self, lowered: str) -> bool:
        """Whether a query parameter of this lower-case name is taken out."""
        return lowered in self.parameters or lowered.startswith(self.parameter_starts)


class Rule(msgspec.Struct, frozen=True, eq=False):
    """A rewriting of requests, for all of them or for those whose URL matches the glob `url`."""

    name: str
    rewrite: Rewrite
    url: str | None = None

    def __call__(self, request: Request) -> Request:
        """The request rewritten; the same one when the rule is not for its URL."""
        if self.url is not None and not _url_matches(request.url, self.url):
            return request
        return self.rewrite(request)


Normalizer = Strip | Rule

SHIPPED: Final[tuple[Strip, ...]] = (
    Strip(
        "credentials",
        headers=frozenset({
            "authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "x-auth-token", "cookie",
            "ocp-apim-subscription-key", "x-subscription-token", "x-functions-key", "private-token",
        }),
    ),
    Strip(
        "sigv4",
        headers=frozenset({
            "authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256", "amz-sdk-invocation-id",
            "amz-sdk-request",
        }),
        parameter_starts=("x-amz-",),
    ),
    Strip("query-key", parameters=frozenset({"key", "api_key", "apikey", "api-key", "access_token"})),
    Strip(
        "idempotency",
        headers=frozenset({"idempotency-key", "x-idempotency-key"}),
        header_starts=("x-stainless-idempotency",),
    ),
    Strip(
        "trace",
        headers=frozenset({
            "traceparent", "tracestate", "baggage", "b3", "sentry-trace", "x-amzn-trace-id", "x-cloud-trace-context",
            "x-request-id", "x-client-request-id", "x-correlation-id", "uber-trace-id", "grpc-trace-bin",
        }),
        header_starts=("x-b3-", "x-datadog-"),
    ),
    Strip(
        "client",
        headers=frozenset({
            "user-agent", "x-amz-user-agent", "x-goog-api-client", "accept", "accept-encoding", "connection",
            "keep-alive", "host", "content-length", "transfer-encoding", "date",
        }),
        header_starts=("x-stainless-",),
    ),
)  # fmt: skip
SHIPPED_NAMES: Final = tuple(strip.name for strip in SHIPPED)
_SECRETS: Final = tuple(strip for strip in SHIPPED if strip.name in ("credentials", "sigv4", "query-key"))


def header_is_volatile(name: str) -> bool:
    """Whether one of the shipped normalizers takes a header of this name out."""
    return _drops_header(SHIPPED, name)


def name_is_secret(name: str) -> bool:
    """Whether a header or query parameter of this name holds a credential, which no report may show."""
    return _drops_header(_SECRETS, name) or any(strip.drops_parameter(name.lower()) for strip in _SECRETS)


def canonical(request: Request, normalizers: Sequence[Normalizer] = SHIPPED) -> Request:
    """The request as it is compared: without what `Strip`s name, then rewritten by each `Rule` in the order given.

    Header names are lower-case, and headers sorted by name. Raises NormalizerError when a user's function fails.
    """
    strips = tuple(normalizer for normalizer in normalizers if isinstance(normalizer, Strip))
    request = _stripped(request, strips)
    for normalizer in normalizers:
        if isinstance(normalizer, Rule):
            request = normalizer(request)
    headers = sorted(((name.lower(), value) for name, value in request.headers), key=_first)
    return Request(request.method.upper(), request.url, tuple(headers), request.body)


def public(request: Request) -> Request:
    """The request as a report may show it: canonical, and without user and password in the URL."""
    shown = canonical(request)
    return Request(shown.method, re.sub(r"^([\w.+-]+://)[^/?#]*@", r"\1", shown.url), shown.headers, shown.body)


def header(name: str, *, url: str | None = None, label: str = "") -> Rule:
    """Takes a header out. `url` is a glob; `label` is the normalizer's own name, for all constructors here."""
    strip = Strip(label or f"header {name}", headers=frozenset({name.lower()}))
    return Rule(strip.name, partial(_stripped, strips=(strip,)), url)


def query(name: str, *, url: str | None = None, label: str = "") -> Rule:
    """Takes a query parameter out."""
    strip = Strip(label or f"query {name}", parameters=frozenset({name.lower()}))
    return Rule(strip.name, partial(_stripped, strips=(strip,)), url)


def pointer(path: str, *, url: str | None = None, label: str = "") -> Rule:
    """Takes out of a JSON body what a JSON pointer names; a segment `*` stands for every member or item.

    Members of objects are removed; items of arrays become null, so that their number still counts. JSON bodies that
    meet this rule are compared without their white space. Raises NormalizerError for what is no pointer.
    """
    if not path.startswith("/"):
        message = f"{path!r} is no JSON pointer: it must start with '/', as in '/metadata/run_id'"
        raise NormalizerError(message)
    steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))

    def rewrite(request: Request) -> Request:
        try:
            document = msgspec.json.decode(request.body)
        except (ValueError, RecursionError):
            return request
        _take_out(document, steps)
        return Request(request.method, request.url, request.headers, msgspec.json.encode(document))

    return Rule(label or f"pointer {path}", rewrite, url)


def regex(pattern: str, replace: str, *, url: str | None = None, label: str = "") -> Rule:
    r"""Replaces what a regular expression matches in the raw text of the body (JSON escapes such as `\n` as written).

    Raises NormalizerError when the expression or its replacement does not compile.
    """
    try:
        compiled = re.compile(pattern)
        names = {number: f"?P<{name}>" for name, number in compiled.groupindex.items()}
        # A replacement is parsed only at a match: these are the same groups in an expression that always matches.
        re.sub("".join(f"({names.get(number, '')})" for number in range(1, compiled.groups + 1)), replace, "")
    except (re.error, IndexError, OverflowError, RecursionError) as error:
        message = f"{pattern!r} replaced by {replace!r} does not work: {error}"
        raise NormalizerError(message) from error

    def rewrite(request: Request) -> Request:
        text = request.body.decode(errors="surrogateescape")
        body = compiled.sub(replace, text).encode(errors="surrogateescape")
        return Request(request.method, request.url, request.headers, body)

    return Rule(label or f"regex {pattern}", rewrite, url)


def python(target: str | Rewrite, *, url: str | None = None, label: str = "") -> Rule:
    """Rewrites with a function from Request to Request, given as such or as "package.module:function".

    Raises NormalizerError when it cannot be imported or, later, when it fails or returns something else.
    """
    function = _imported(target) if isinstance(target, str) else target
    name = label or (f"python {target}" if isinstance(target, str) else getattr(target, "__qualname__", "python"))

    def rewrite(request: Request) -> Request:
        try:
            result = function(request)
        except Exception as error:
            message = f"normalizer {name!r} raised {type(error).__name__}: {error}"
            raise NormalizerError(message) from error
        if not isinstance(result, Request):
            message = f"normalizer {name!r} must return a Request, and returned {type(result).__name__}"
            raise NormalizerError(message)
        return result

    return Rule(name, rewrite, url)


_CONSTRUCTORS: Final[Mapping[str, Callable[..., Rule]]] = {
    "pointer": pointer, "regex": regex, "header": header, "query": query, "python": python,
}  # fmt: skip
_KEYS: Final = ("name", "url", "enabled", "replace", *_CONSTRUCTORS)


def load(config: Mapping[str, object]) -> tuple[Normalizer, ...]:
    """The shipped normalizers and then those of the `[tool.reenact]` table `config`, in its order.

    `enabled = false` leaves an entry out, and with a shipped name the shipped one. Raises NormalizerError.
    """
    entries = config.get("normalizers", [])
    if not isinstance(entries, list):
        message = "normalizers in [tool.reenact] must be tables: write [[tool.reenact.normalizers]] above each"
        raise NormalizerError(message)
    shipped: dict[str, Normalizer] = {strip.name: strip for strip in SHIPPED}
    rules: dict[str, Normalizer] = {}
    for number, entry in enumerate(entries, 1):
        where = f"[[tool.reenact.normalizers]] entry {number}"
        name, enabled = _checked(entry, where)
        if name in SHIPPED_NAMES:
            _only_switched(entry, where)
            if not enabled:
                shipped.pop(name, None)
        elif name in rules:
            message = f"{where}: there is a normalizer named {name!r} above already"
            raise NormalizerError(message)
        else:
            rule = _rule(entry, where)
            if enabled:
                rules[name] = rule
    return (*shipped.values(), *rules.values())


def _checked(entry: object, where: str) -> tuple[str, bool]:
    """Name and switch of an entry whose keys and types have been checked."""
    if not isinstance(entry, Mapping):
        message = f"{where} must be a table with the keys {_listed(_KEYS)}, and is {entry!r}"
        raise NormalizerError(message)
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        message = f"{where}: the key 'name' is needed, and must be a string that is not empty"
        raise NormalizerError(message)
    for key, value in entry.items():
        if key not in _KEYS:
            message = f"{where} ({name!r}): unknown key {key!r}; allowed are {_listed(_KEYS)}"
            raise NormalizerError(message)
        wanted: type = bool if key == "enabled" else str
        if not isinstance(value, wanted):
            kind = "true or false" if wanted is bool else "a string"
            message = f"{where} ({name!r}): {key!r} must be {kind}, and is {value!r}"
            raise NormalizerError(message)
    return name, entry.get("enabled", True) is True


def _only_switched(entry: Mapping[str, object], where: str) -> None:
    extra = [key for key in entry if key not in ("name", "enabled")]
    if extra:
        message = (
            f"{where}: {entry['name']!r} is a normalizer that reenact ships; with this name only 'enabled' can be set, "
            f"not {_listed(extra)}; choose another name for one of your own"
        )
        raise NormalizerError(message)


def _rule(entry: Mapping[str, str], where: str) -> Rule:
    name = entry["name"]
    actions = [key for key in _CONSTRUCTORS if key in entry]
    if len(actions) != 1:
        found = f"it has {_listed(actions)}" if actions else "it has none"
        message = f"{where} ({name!r}): exactly one of {_listed(tuple(_CONSTRUCTORS))} is needed; {found}"
        raise NormalizerError(message)
    action = actions[0]
    if ("replace" in entry) != (action == "regex"):
        message = f"{where} ({name!r}): 'replace' goes with 'regex' and is needed there, as in replace = '*'"
        raise NormalizerError(message)
    arguments = [entry[action], entry["replace"]] if action == "regex" else [entry[action]]
    try:
        return _CONSTRUCTORS[action](*arguments, url=entry.get("url"), label=name)
    except NormalizerError as error:
        message = f"{where} ({name!r}): key {action!r}: {error}"
        raise NormalizerError(message) from error


def _imported(target: str) -> Rewrite:
    module, colon, attribute = target.partition(":")
    if not colon or not module or not attribute:
        message = f"{target!r} must have the form 'package.module:function'"
        raise NormalizerError(message)
    try:
        function: object = importlib.import_module(module)
        for name in attribute.split("."):
            function = getattr(function, name)
    except (ImportError, AttributeError) as error:
        message = f"{target!r} cannot be imported: {error}"
        raise NormalizerError(message) from error
    if not callable(function):
        message = f"{target!r} is no function"
        raise NormalizerError(message)
    return function


def _take_out(document: object, steps: tuple[str, ...]) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        for name in list(document) if step == "*" else [step] * (step in document):
            if rest:
                _take_out(document[name], rest)
            else:
                del document[name]
    elif isinstance(document, list):
        for index in range(len(document)) if step == "*" else _index(step, len(document)):
            if rest:
                _take_out(document[index], rest)
            else:
                document[index] = None


def _index(step: str, length: int) -> list[int]:
    # RFC 6901, section 4: an index is "0" or has no leading zero.
    found = re.fullmatch(r"0|[1-9][0-9]{0,9}", step)
    return [int(step)] if found and int(step) < length else []


def _stripped(request: Request, strips: tuple[Strip, ...]) -> Request:
    headers = tuple(pair for pair in request.headers if not _drops_header(strips, pair[0]))
    return Request(request.method, _without_parameters(request.url, strips), headers, request.body)


# Each call of the agent asks this some twenty times, for the same few names.
@lru_cache(maxsize=2048)
def _drops_header(strips: tuple[Strip, ...], name: str) -> bool:
    lowered = name.lower()
    return any(strip.drops_header(lowered) for strip in strips)


def _without_parameters(url: str, strips: tuple[Strip, ...]) -> str:
    """The URL without some parameters; every other byte of it as it was."""
    head, mark, tail = url.partition("?")
    if not mark:
        return url
    text, hash_mark, fragment = tail.partition("#")
    pairs = text.split("&")
    kept = [pair for pair in pairs if not any(strip.drops_parameter(_parameter_name(pair)) for strip in strips)]
    return head + (mark if kept else "") + "&".join(kept) + hash_mark + fragment


def _parameter_name(pair: str) -> str:
    return unquote_plus(pair.partition("=")[0]).lower()


def _url_matches(url: str, glob: str) -> bool:
    """Whether the glob matches the URL, or the URL without its query."""
    return fnmatch.fnmatchcase(url, glob) or fnmatch.fnmatchcase(url.partition("?")[0], glob)


def _first(pair: tuple[str, str]) -> str:
    return pair[0]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
