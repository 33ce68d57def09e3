"""What code that records runs asks for each of them: where it is kept, how it is labelled, whether it is recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reenact.launch.labels import SESSION, Labels
from reenact.launch.sampling import is_sampled, rate_around, rate_of
from reenact.launch.settings import Settings

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of each run of a block or function. What is callable is called with the arguments of that.

    `sample` is None where the environment or the project is to say it. `keep_failed`: a run that is not in the sample
    is recorded all the same, and kept if it fails.
    """

    store: str | None = None
    session: str | Callable[..., object] = ""
    tags: Mapping[str, str] | None = None
    sample: float | Callable[..., float] | None = None
    keep_failed: bool = False

    @classmethod
    def checked(cls, store: str | None, session: Any, tags: Any, sample: Any, *, keep_failed: bool) -> Wish:
        """What the code gives.

        Raises:
            UsageError: one of them cannot be what it should.
        """
        labels = Labels.given(None if callable(session) else session, tags)
        rate = sample if sample is None or callable(sample) else rate_of(sample)
        return cls(store, session if callable(session) else labels.session, labels.tags, rate, keep_failed)

    def granted(self, settings: Settings, given: Arguments) -> tuple[Labels, bool] | None:
        """What one run is labelled with, and whether it is in the sample; None when it is not to be recorded.

        Raises what the code's functions raise.
        """
        args, kwargs = given
        rate = rate_of(self.sample(*args, **kwargs)) if callable(self.sample) else self.sample
        if rate is None:
            rate = rate_around(settings)
        if not rate and not self.keep_failed:
            return None
        session = self.session(*args, **kwargs) if callable(self.session) else self.session
        sampled = is_sampled(rate, str(session or os.environ.get(SESSION, "")))
        if not sampled and not self.keep_failed:
            return None
        return Labels.around(settings).with_(Labels.given(session or None, self.tags)), sampled
