"""Verdicts as OpenTelemetry events, and the way to a backend: `events.py` says what is sent, `sending.py` how.

What is sent is named and shaped by the OpenTelemetry semantic conventions for generative AI: one log record
`gen_ai.evaluation.result` for each verdict and one for each finding, on the context of the span it is about. Everything
we send carries our scope name (`gpa.ingest.receiver` passes over it), so that a receiver whose verdicts come back to it
does not evaluate them again.
"""
