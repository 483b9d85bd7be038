"""What every test runs under: laws draw the same examples each time, and no example is failed for being slow."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("gpa", deadline=None, derandomize=True, database=None)
settings.load_profile("gpa")
