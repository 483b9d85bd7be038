"""Transcripts as the store knows and keeps them: a hash of what is judged, and compressed JSON."""

from __future__ import annotations

import zlib
from hashlib import blake2b

import msgspec
from sqlalchemy.exc import DBAPIError

from gpa.ingest.transcript import Transcript


def transcript_hash(transcript: Transcript) -> str:
    """A hash of what is judged: the same whichever file or format the trace came from.

    Notes on how it was read are left out. 32 hex digits.
    """
    digest = blake2b(digest_size=16)
    for part in (transcript.trace_id, transcript.goal, *transcript.agents, *transcript.steps, *transcript.plans):
        digest.update(_bytes(part))
    return digest.hexdigest()


def _bytes(part: object) -> bytes:
    try:
        return msgspec.json.encode(part, order="deterministic")
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        # Halves of surrogate pairs, keys that are not text: no JSON, but it can be told apart.
        try:
            return repr(part).encode("utf-8", "backslashreplace")
        except RecursionError:
            return b"nested beyond reading"


def packed(transcript: Transcript) -> bytes | None:
    """The transcript as compressed JSON, None when it holds what JSON cannot."""
    try:
        return zlib.compress(msgspec.json.encode(transcript), 1)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        return None


def unpacked(packed: bytes) -> Transcript:
    """The transcript that `packed` made so."""
    return msgspec.json.decode(zlib.decompress(packed), type=Transcript)


def sound(text: str) -> str:
    """The text as every database can hold it."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def cause(error: Exception) -> str:
    """The database's own words, in one line."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())[:300]
