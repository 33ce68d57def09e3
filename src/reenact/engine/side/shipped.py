"""The requests that are side traffic unless a project says otherwise. docs/side-traffic.md shows this list.

On it is only what is sent and forgotten: a request whose answer tells the program no more than that it arrived.
"""

from __future__ import annotations

import msgspec


class Sender(msgspec.Struct, frozen=True):
    """Who sends it, and how it is recognised. `source` is where that is to be read: a document, or a package's file."""

    name: str
    what: str
    source: str
    patterns: tuple[str, ...]


SENDERS = (
    Sender(
        "OpenAI Agents",
        "traces, from a thread every few seconds and at the end",
        "openai-agents: agents/tracing/processors.py",
        ("api.openai.com/v1/traces/ingest",),
    ),
    Sender(
        "LangSmith",
        "runs of LangChain and LangGraph, from a thread; not queries, hub or settings",
        "langsmith: client.py",
        (
            "POST *api.smith.langchain.com/runs",
            "POST *api.smith.langchain.com/runs/batch",
            "POST *api.smith.langchain.com/runs/multipart",
            "PATCH *api.smith.langchain.com/runs/*",
            "*api.smith.langchain.com/otel/v1/*",
        ),
    ),
    Sender(
        "PostHog",
        "events of Haystack, Chroma, LiteLLM and others; not feature flags",
        "https://posthog.com/docs/api/post-only-endpoints/",
        (
            "*.posthog.com/batch",
            "*.posthog.com/capture",
            "*.posthog.com/e",
            "*.posthog.com/i/v0/e",
        ),
    ),
    Sender(
        "Agno",
        "one event for each run",
        "agno: api/routes.py, api/settings.py",
        ("os-api.agno.com/telemetry/*",),
    ),
    Sender(
        "CrewAI",
        "anonymous telemetry, by OpenTelemetry",
        "crewai: telemetry/constants.py, telemetry/telemetry.py",
        ("telemetry.crewai.com/v1/traces",),
    ),
    Sender(
        "OpenTelemetry",
        "traces, metrics and logs to a collector at the port of OTLP over HTTP, on whatever machine",
        "https://opentelemetry.io/docs/languages/sdk-configuration/otlp-exporter/",
        ("*:4318/v1/traces", "*:4318/v1/metrics", "*:4318/v1/logs"),
    ),
    Sender(
        "Langfuse",
        "traces; not prompts or datasets",
        "https://api.reference.langfuse.com",
        ("*cloud.langfuse.com/api/public/ingestion", "*cloud.langfuse.com/api/public/otel/v1/*"),
    ),
    Sender(
        "Logfire",
        "traces, metrics and logs",
        "https://logfire.pydantic.dev/docs/how-to-guides/alternative-clients",
        ("*.pydantic.dev/v1/traces", "*.pydantic.dev/v1/metrics", "*.pydantic.dev/v1/logs"),
    ),
    Sender(
        "Datadog",
        "logs and LLM observability, to Datadog or to its agent on this machine",
        "https://docs.datadoghq.com/llm_observability/instrumentation/api/",
        (
            "*.datadoghq.com/api/v2/logs",
            "*.datadoghq.eu/api/v2/logs",
            "*.datadoghq.com/api/intake/llm-obs/*",
            "*.datadoghq.eu/api/intake/llm-obs/*",
            "*:8126/v0.*/traces",
        ),
    ),
    Sender(
        "Sentry",
        "errors, traces and sessions",
        "https://docs.sentry.io/concepts/key-terms/dsn-explainer/",
        ("*.sentry.io/api/*/envelope", "*.sentry.io/api/*/store"),
    ),
    Sender(
        "Arize and Phoenix",
        "traces",
        "litellm: integrations/arize",
        ("otlp.arize.com/v1/traces", "app.phoenix.arize.com/*v1/traces"),
    ),
    Sender(
        "Traceloop",
        "traces and metrics",
        "https://traceloop.com/docs/openllmetry/integrations/traceloop",
        ("api.traceloop.com/v1/traces", "api.traceloop.com/v1/metrics"),
    ),
    Sender(
        "Weave",
        "traces by OpenTelemetry; not those of its own protocol",
        "litellm: integrations/weave/weave_otel.py",
        ("trace.wandb.ai/otel/v1/traces",),
    ),
    Sender(
        "AgentOps",
        "traces; not the token that it asks for",
        "litellm: integrations/agentops/agentops.py",
        ("otlp.agentops.ai/v1/traces", "otlp.agentops.cloud/v1/traces"),
    ),
    Sender(
        "Opik",
        "traces and spans",
        "https://www.comet.com/docs/opik/reference/rest-api/spans/create-spans",
        ("www.comet.com/opik/api/v1/private/traces/batch", "www.comet.com/opik/api/v1/private/spans/batch"),
    ),
    Sender(
        "Segment",
        "events",
        "https://www.twilio.com/docs/segment/connections/sources/catalog/libraries/server/http-api",
        ("api.segment.io/v1/*", "eu1.api.segmentapis.com/v1/*"),
    ),
    Sender(
        "Mixpanel",
        "events",
        "https://docs.mixpanel.com/reference/track-event",
        ("*.mixpanel.com/track",),
    ),
    Sender(
        "Hugging Face",
        "that a library is used; not the hub",
        "huggingface_hub: utils/_telemetry.py",
        ("HEAD huggingface.co/api/telemetry/*",),
    ),
)

PATTERNS = tuple(pattern for sender in SENDERS for pattern in sender.patterns)
"""All of them, as they stand at the beginning of each run's list."""
