"""How to make a producer export what was said: most keep message content to themselves until told otherwise."""

from __future__ import annotations

from gpa.ingest.spans import Span

# Producer (beginning of the instrumentation scope's name) -> how to switch content on.
# Sources: docs/conventions.md C1 to C13, and the producers' own documentation.
_BY_SCOPE: tuple[tuple[str, str], ...] = (
    ("openinference.", "unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS"),
    ("opentelemetry.instrumentation.genai", "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
    (
        "opentelemetry.instrumentation.",
        (
            "set TRACELOOP_TRACE_CONTENT=true (OpenLLMetry), or OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
            " and export the logs too"
        ),
    ),
    ("pydantic-ai", "set InstrumentationSettings(include_content=True)"),
    (
        "gcp.vertex.agent",
        (
            "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
            " (ADK 1: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true)"
        ),
    ),
    ("agent_framework", "set ENABLE_SENSITIVE_DATA=true"),
    (
        "strands.",
        "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental, or keep the span events of its spans",
    ),
    (
        "com.anthropic.claude_code",
        "set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_ASSISTANT_RESPONSES=1 and OTEL_LOG_TOOL_CONTENT=1",
    ),
    (
        "autogen",
        "instrument the model client as well (OpenInference or OpenLLMetry): AutoGen's own spans hold no content",
    ),
    ("ai", "leave recordInputs and recordOutputs of experimental_telemetry on"),
)
_GENERAL = (
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT (true, or SPAN_ONLY in newer libraries); where the "
    "producer writes content to log records, give the exported logs to this command as well"
)


def hint(span: Span) -> str:
    """One clause that says how the producer of this span is made to export content."""
    if any(key.startswith("openai_agents.") for key in span.attributes):
        return "this SDK's own export never holds it: use one of the OpenTelemetry instrumentations for the SDK"
    scope = span.scope.name
    for beginning, switch in _BY_SCOPE:
        if scope == beginning or (len(beginning) > 2 and scope.startswith(beginning)):
            return f"to export it {switch}"
    return f"to export it {_GENERAL}"
