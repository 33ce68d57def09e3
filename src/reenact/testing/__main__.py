"""`python -m reenact.testing`: the model server on its own, for agents in other processes."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from threading import Event

from reenact.testing.address import Address
from reenact.testing.demo import demo
from reenact.testing.policy import Policy
from reenact.testing.server import ModelServer

_SETTINGS = """\
reenact.testing: model server on {url}; Ctrl-C ends it

OPENAI_BASE_URL={openai}
ANTHROPIC_BASE_URL={anthropic}
GROQ_BASE_URL={groq}
GOOGLE_GEMINI_BASE_URL={gemini}
AWS_ENDPOINT_URL_BEDROCK_RUNTIME={bedrock}
OPENAI_API_KEY=any
ANTHROPIC_API_KEY=any
GROQ_API_KEY=any
GEMINI_API_KEY=any
AWS_ACCESS_KEY_ID=any
AWS_SECRET_ACCESS_KEY=any
AWS_REGION=us-east-1
"""


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted; 2 when the policy cannot be loaded or the port is taken."""
    options = _parser().parse_args(arguments)
    try:
        policy = _load(options.policy) if options.policy else demo
        with ModelServer(policy, port=options.port, seed=options.seed, chunk_delay=options.chunk_delay) as server:
            sys.stdout.write(settings(server))
            sys.stdout.flush()
            Event().wait()
    except KeyboardInterrupt:
        pass
    except (ImportError, AttributeError, OSError, ValueError) as error:
        sys.stderr.write(f"reenact.testing: {error}\n")
        return 2
    return 0


def settings(address: Address) -> str:
    """The base URLs of a server as environment settings that the SDKs read."""
    names = ("url", "openai", "anthropic", "groq", "gemini", "bedrock")
    return _SETTINGS.format(**{name: getattr(address, name) for name in names})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reenact.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--seed", type=int, default=0, help="what ids in answers follow from (default: 0)")
    parser.add_argument("--chunk-delay", type=float, default=0.0, help="seconds between the chunks of a stream")
    parser.add_argument("--policy", metavar="MODULE:NAME", help="the policy that answers (default: a demo)")
    return parser


def _load(name: str) -> Policy:
    module, _, attribute = name.partition(":")
    policy = getattr(import_module(module), attribute)
    if not callable(policy):
        message = f"{name} is not callable"
        raise ValueError(message)  # noqa: TRY004  the same answer as for a name that does not exist
    return policy  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(main())
