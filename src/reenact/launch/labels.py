"""What a run is labelled with when it begins: the session that it belongs to, and tags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from reenact.errors import UsageError
from reenact.launch.manifest import Manifest
from reenact.launch.settings import Settings
from reenact.tape import labels
from reenact.tape.vault import Vault

SESSION, TAGS = "REENACT_SESSION", "REENACT_TAGS"


@dataclass(frozen=True, slots=True)
class Labels:
    """`session` is empty for none."""

    session: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def given(cls, session: object = None, tags: object = None) -> Labels:
        """Those that a caller names, checked; None for none.

        Raises:
            UsageError: one of them cannot be one.
        """
        return cls(
            labels.session_id(session) if session is not None else "", labels.tags_of(tags) if tags is not None else {}
        )

    @classmethod
    def around(cls, settings: Settings) -> Labels:
        """Those of the project, and of the environment: REENACT_SESSION=support-4711, REENACT_TAGS=env=prod,beta.

        Raises:
            UsageError: one of them cannot be one.
        """
        session = os.environ.get(SESSION, "")
        try:
            own = cls.given(session or None, labels.parsed(labels.listed(os.environ.get(TAGS, ""))))
        except UsageError as error:
            raise UsageError(f"{SESSION} and {TAGS}: {error}") from error
        return cls("", settings.tags).with_(own)

    def with_(self, nearer: Labels) -> Labels:
        """These, and those that are named nearer to the run: they count more."""
        return Labels(nearer.session or self.session, {**self.tags, **nearer.tags})

    def on(self, manifest: Manifest, vault: Vault) -> Manifest:
        """The manifest with these, as they stand on tape."""
        session = labels.session_id(self.session, vault.clean_text) if self.session else ""
        return msgspec.structs.replace(manifest, session=session, tags=labels.tags_of(self.tags, vault.clean_text))
