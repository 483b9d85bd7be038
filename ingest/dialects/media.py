"""Pictures, sound, files and links inside a message, shown as one short line of text.

Every convention nests the same few facts differently (a type, a name, an address or the bytes); here
they are collected wherever they stand. Addresses and texts are kept, encoded bytes are counted.
"""

from __future__ import annotations

import re
from typing import Any

_FACTS = {
    "mime": ("mime_type", "mimeType", "media_type", "mediaType", "format"),
    "name": ("filename", "file_name", "name", "displayName", "display_name", "title"),
    "uri": (
        *("url", "uri", "image_url", "imageUrl", "file_uri", "fileUri", "file_url", "fileUrl", "video_url"),
        *("audio_url", "document_url", "file_id", "fileId"),
    ),
    "data": ("data", "base64", "bytes", "file_data", "fileData", "blob", "content", "image", "file"),
    "text": ("text", "transcript", "context", "caption", "alt", "description"),
}
_FACT = {key: fact for fact, keys in _FACTS.items() for key in keys}
_SOURCES = frozenset(
    (
        *_FACTS["uri"],
        *_FACTS["data"],
        "source",
        "input_audio",
        "audio",
        "resource",
        "video",
        "reference",
        "mime_type",
        "media_type",
        "mediaType",
        "modality",
    )
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]*\Z")
_DEEPEST = 4


def is_media(part: dict[str, Any]) -> bool:
    """Whether the part says where its content is or holds it (a bare `{"type": "file", "size": 3}` does not)."""
    return not _SOURCES.isdisjoint(part)


def describe(part: dict[str, Any], kind: str) -> str:
    """One line such as `[image image/png, 12,345 characters of base64]`, followed by text the part holds."""
    facts: dict[str, list[str]] = {"mime": [], "name": [], "uri": [], "data": [], "text": []}
    _collect(part, facts, 0)
    shown: list[str] = [*facts["mime"], *facts["name"]]
    texts = facts["text"]
    for data in facts["data"]:
        head, _, encoded = data.partition(",")
        if data.startswith("data:"):
            if not facts["mime"]:
                shown.insert(0, head[5:].partition(";")[0])
            shown.append(f"{len(encoded):,} characters of base64")
        elif "://" in data[:32]:
            shown.append(data)
        elif len(data) > 8 and _BASE64.match(data[:512]):
            shown.append(f"{len(data):,} characters of base64")
        else:
            texts.append(data)
    shown += facts["uri"]
    line = f"[{kind} {', '.join(shown)}]" if shown else f"[{kind}]"
    return "\n".join((line, *texts))


def _collect(part: dict[str, Any], facts: dict[str, list[str]], depth: int) -> None:
    for key, value in part.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                _collect(value, facts, depth + 1)
        elif isinstance(value, list):
            if key == "content" and depth < _DEEPEST:
                for inner in value:
                    if isinstance(inner, dict):
                        _collect(inner, facts, depth + 1)
            elif value and all(isinstance(number, int) for number in value):
                facts["data"].append(f"{len(value):,} bytes")
        elif isinstance(value, bytes):
            facts["mime"].append(f"{len(value):,} bytes")
        elif isinstance(value, str) and value:
            fact = _FACT.get(key)
            if fact == "uri" and value.startswith("data:"):
                fact = "data"
            if fact is not None and value not in facts[fact]:
                facts[fact].append(value)
