"""The OTLP receiver: traces and logs over HTTP and gRPC, on disk before they are acknowledged.

Source: opentelemetry-proto, docs/specification.md. Needs the extra `serve`; nothing imports it on start-up.
"""

from __future__ import annotations

from gpa.ingest.receiver.server import Receiver, start
from gpa.ingest.receiver.settings import ReceiverLimits, Tls

__all__ = ("Receiver", "ReceiverLimits", "Tls", "start")
