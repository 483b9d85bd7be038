"""What every test runs under: laws draw the same examples each time, and no example is failed for being slow.

A shell that starts the tests in the background has them ignore SIGINT, and everything they start: tests that interrupt
a command need it back.
"""

from __future__ import annotations

import signal

from hypothesis import settings

from tests.servers.postgres import postgres, postgres_server

__all__ = ("postgres", "postgres_server")  # fixtures for all tests

settings.register_profile("gpa", deadline=None, derandomize=True, database=None)
settings.load_profile("gpa")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
