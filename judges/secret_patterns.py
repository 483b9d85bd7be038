r"""What a secret looks like: patterns of detect-secrets for keys and tokens, and our own for what it does not know.

Only detect-secrets' regular expressions are taken, and applied to whole texts (it reads source code line by line).
Some of them are left to ours: those that take quadratic time on hostile text (`NPM tokens`, `OpenAI Token`), that find
only the first line of a key or leave a token's signature standing (`Private Key`, `JSON Web Token`), that stop before a
key's or a password's end (`Stripe Access Key`, `Basic Auth Credentials`), and public IP addresses, which are no secrets
in an agent's run. What is known by its name alone is in `named_secrets`.

Most patterns also say what every match of theirs must begin with or hold, so that they are tried only where it stands:
nine tenths of the time would go into looking for keys in prose.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from gpa.judges.named_secrets import CREDENTIALS, NAMED

MIN_SECRET = 8
"""Characters from which a nameless group of a pattern is the secret itself and not a part of its form (`ghp`)."""

_LEFT_OUT = frozenset(
    {
        *("Basic Auth Credentials", "JSON Web Token", "NPM tokens", "OpenAI Token", "Private Key", "Public IP (ipv4)"),
        "Stripe Access Key",
    }
)

_BEGINNINGS: dict[str, tuple[str, ...]] = {
    "AWS Access Key": ("A3T", "ABIA", "ACCA", "AKIA", "ASIA", "aws"),
    "Azure Storage Account access key": ("AccountKey=",),
    "GitHub Token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "GitLab Token": (
        *("glpat-", "gldt-", "glft-", "glsoat-", "glrt-"),
        *("GR1348941", "glcbt-", "glimt-", "glptt-", "glagent-", "gloas-"),
    ),
    "PyPI Token": ("pypi-Ag",),
    "SendGrid API Key": ("SG.",),
    "Slack Token": ("xox", "https://hooks.slack.com"),
    "Square OAuth Secret": ("sq0csp-",),
    "Twilio API Key": ("AC", "SK"),
}
"""By the kinds of detect-secrets, as its patterns spell them: every match begins with one of these."""
_LITERALS: dict[str, tuple[str, ...]] = {
    "Artifactory Credentials": ("AKC", "AP"),
    "Cloudant Credentials": ("cl",),
    "IBM Cloud IAM Key": ("key", "pwd", "pass", "token"),
    "IBM COS HMAC Credentials": ("secret",),
    "Mailchimp Access Key": ("-us",),
    "SoftLayer Credentials": ("sl", "softlayer"),
}
"""Every match holds one of these."""
_RUNS: dict[str, int] = {
    "Cloudant Credentials": 24,
    "Discord Bot Token": 27,
    "IBM Cloud IAM Key": 44,
    "IBM COS HMAC Credentials": 48,
    "Mailchimp Access Key": 32,
    "SoftLayer Credentials": 64,
    "Telegram Bot Token": 35,
}
"""Every match holds so many of `[A-Za-z0-9_-]` in a row. A kind in none of these tables is tried everywhere."""

BEFORE_RUN = 100
"""Characters a match may begin before its run: a name, its signs and blanks, an address."""
AFTER_RUN = 64
"""Characters a match may go on after it."""

_ASSIGNED = "(?: *)(?:=|:|:=|=>| +|::)(?: *)"
_ASSIGNED_BOUNDED = "(?: {0,4}(?:=>|:=|::|=|:) {0,4}| {1,4})"
"""detect-secrets' form of an assignment takes cubic time on a run of blanks; ours allows for four on each side."""

_BREAK = r"(?:\s|\\{1,7}[nrt])"
"""A blank, or one as it is written inside a JSON text."""

_OWN: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Private Key",
        # The end may be cut off, and line ends may be written as \\n inside a JSON text. Without an end, headers and
        # the lines that look like a key's are taken.
        (
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:(?!-----)[\s\S]){0,20000}+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rf"|(?:{_BREAK}{{1,4}}[A-Z][A-Za-z-]{{2,20}}+: [^\r\n\\]{{0,80}}+(?=[\r\n\\])){{0,9}}"
            rf"(?:{_BREAK}{{0,80}}[A-Za-z0-9+/=]{{16,}}+)*(?:{_BREAK}{{0,80}}[A-Za-z0-9+/]{{1,15}}+=+)?)"
        ),
        ("-----BEGIN ",),
    ),
    (
        "JSON Web Token",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{6,}+=*+\.[A-Za-z0-9_-]{2,}+=*+(?:\.[A-Za-z0-9_-]*+=*+){0,3}",
        ("eyJ",),
    ),
    ("API Key", r"\bsk-(?:ant|proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{16,}+", ("sk-",)),
    ("API Key", r"\bsk-[A-Za-z0-9_-]{0,160}T3BlbkFJ[A-Za-z0-9_-]{16,}+", ("sk-",)),
    (
        "API Key",
        r"\b(?:sk|rk|pk)[-_](?:(?:live|test)_[A-Za-z0-9]{16,}+|[A-Za-z0-9]{32,}+)",
        ("sk-", "rk-", "pk-", "sk_", "rk_", "pk_"),
    ),
    (
        "API Key",
        r"\b(?:(?:gsk|hf|r8|dop_v1|npm)_|(?:xai|pplx|nvapi|tvly|jina)[-_]|lsv2_(?:pt|sk)_)[A-Za-z0-9_-]{24,}+",
        ("gsk_", "hf_", "r8_", "dop_v1_", "npm_", "xai", "pplx", "nvapi", "tvly", "jina", "lsv2_"),
    ),
    (
        "API Key",
        r":_(?:authToken|auth|password)\s{0,4}=\s{0,4}\"?(?P<secret>[^\s\"']{8,400}+)",
        (":_auth", ":_password"),
    ),
    ("Google API Key", r"\bAIza[0-9A-Za-z_-]{35}", ("AIza",)),
    ("Google OAuth Token", r"\bya29\.[0-9A-Za-z_-]{20,}+", ("ya29.",)),
    ("GitHub Token", r"\bgithub_pat_[A-Za-z0-9_]{22,}+", ("github_pat_",)),
    ("Slack Token", r"\bx(?:ox[a-z]|app)-[A-Za-z0-9-]{20,}+", ("xox", "xapp-")),
    ("API Key", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}+", ("hvs.", "hvb.", "hvr.")),
    ("API Key", r"\bGOCSPX-[A-Za-z0-9_-]{20,}+", ("GOCSPX-",)),
    ("API Key", r"\b1//0[A-Za-z0-9_-]{20,}+", ("1//0",)),
    ("API Key", r"\bsh(?:pat|pca|ppa|pss)_[A-Fa-f0-9]{32,}+", ("shpat_", "shpca_", "shppa_", "shpss_")),
    ("API Key", r"\bwhsec_[A-Za-z0-9+/]{24,}+=*+", ("whsec_",)),
)
"""Kind, expression, and what every match begins with (in lower case where the expression ignores case)."""
_LAST: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    # As detect-secrets knows it, and cut short by some characters.
    ("Telegram Bot Token", r"\d{8,10}:AA[A-Za-z0-9_-]{30,}+", (), (":AA",)),
    *NAMED,
    (
        "E-mail Address",
        (
            r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}+@(?:[A-Za-z0-9-]{1,63}+\.){1,8}"
            r"(?!(?:png|jpe?g|gif|svg|webp|css|js|json|html|py|md)\b)[A-Za-z]{2,24}\b"
        ),
        (),
        ("@",),
    ),
    (
        "Card Number",
        # Groups of four, or four, six and the rest, with one separator or none; `is_card` does the rest.
        r"[2-6](?<![\w.,/+-][2-6])\d{3}(?:([ -]?)\d{4}\1\d{4}\1\d{1,7}|([ -]?)\d{6}\2\d{4,5})(?![\w/+-])",
        (),
        (),
    ),
)
"""What is looked for in what is left then: the same, and literals of which every match holds one."""


class Pattern(NamedTuple):
    """A kind of secret, how it is found, and what spares the search."""

    kind: str
    regex: re.Pattern[str]
    beginnings: tuple[str, ...] = ()
    """Every match begins with one of them; none: unknown."""
    literals: tuple[str, ...] = ()
    """Every match holds one of them; none: unknown."""
    run: int = 0
    """Every match holds so many of `[A-Za-z0-9_-]` in a row."""
    folded: bool = False
    """Whether beginnings and literals are to be looked for in the text without case (`folded`)."""
    valid: Callable[[str], bool] | None = None
    """Whether what the expression found is one."""

    def secret(self, match: re.Match[str]) -> tuple[int, int]:
        """Where in the text the secret stands: the group of that name, a telling first one, or all of the match."""
        if "secret" in match.re.groupindex:
            return match.span("secret")
        telling = bool(match.re.groups) and self.valid is None and len(match[1] or "") >= MIN_SECRET
        return match.span(1 if telling else 0)

    def matches(self, text: str, without_case: str, runs: Sequence[tuple[int, int]]) -> Iterator[re.Match[str]]:
        """What `finditer` gives, without looking where no match can be."""
        within = without_case if self.folded else text
        if self.literals and not any(literal in within for literal in self.literals):
            return iter(())
        if self.run:
            return self._around(text, runs)
        if not self.beginnings or len(within) != len(text):
            return self.regex.finditer(text)
        return self._anchored(text, within)

    def _around(self, text: str, runs: Sequence[tuple[int, int]]) -> Iterator[re.Match[str]]:
        done = 0
        for start, stop in runs:
            if stop - start >= self.run:
                for match in self.regex.finditer(text, max(done, start - BEFORE_RUN), stop + AFTER_RUN):
                    yield match
                    done = match.end()

    def _anchored(self, text: str, within: str) -> Iterator[re.Match[str]]:
        done = 0
        for start in sorted(at for beginning in self.beginnings for at in _places(beginning, within)):
            if start >= done and (match := self.regex.match(text, start)):
                yield match
                done = match.end()


def _places(literal: str, text: str) -> Iterator[int]:
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns in the order they are applied: whole keys and credentials before the parts others would know."""
    own = (
        Pattern(kind, re.compile(regex), beginnings, folded="(?i:" in regex)
        for kind, regex, beginnings in (*_OWN, *CREDENTIALS)
    )
    last = (
        Pattern(
            kind,
            re.compile(regex),
            beginnings,
            literals,
            folded="(?i:" in regex,
            valid=is_card if kind == "Card Number" else None,
        )
        for kind, regex, beginnings, literals in _LAST
    )
    return (*own, *_detectors(), *last)


def _detectors() -> Iterator[Pattern]:
    """The patterns of detect-secrets' regular expression detectors (imported here: a tenth of a second)."""
    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    for module in pkgutil.iter_modules(plugins.__path__):
        for detector in vars(importlib.import_module(f"{plugins.__name__}.{module.name}")).values():
            if not (isinstance(detector, type) and issubclass(detector, RegexBasedDetector)):
                continue
            if detector is RegexBasedDetector:
                continue
            plugin = detector()
            kind = str(plugin.secret_type)
            for regex in plugin.denylist if kind not in _LEFT_OUT else ():
                ignores_case = bool(regex.flags & re.IGNORECASE)
                # A kind has several expressions, each with some of its beginnings.
                known = _BEGINNINGS.get(kind, ())
                beginnings = tuple(one for one in known if one.rstrip("-_") in regex.pattern) or known
                literals = tuple(one for one in _LITERALS.get(kind, ()) if one in regex.pattern)
                if ignores_case:
                    beginnings, literals = tuple(map(str.lower, beginnings)), tuple(map(str.lower, literals))
                yield Pattern(
                    kind,
                    re.compile(regex.pattern.replace(_ASSIGNED, _ASSIGNED_BOUNDED), regex.flags),
                    beginnings,
                    literals,
                    _RUNS.get(kind, 0),
                    ignores_case,
                )


def folded(text: str) -> str:
    """The text without case, as far as `re.IGNORECASE` makes none, character by character."""
    text = text.lower()
    if text.isascii():
        return text
    return text.replace("i\u0307", "i").replace("\u0131", "i").replace("\u017f", "s")


_RUN = re.compile(r"[A-Za-z0-9_-]{24,}+")


def long_runs(text: str) -> list[tuple[int, int]]:
    """Where at least 24 letters, digits, `_` and `-` stand in a row: a key is seldom shorter, a word seldom as long."""
    return [run.span() for run in _RUN.finditer(text)]


_ISSUER = re.compile(r"4|5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)|3(?:0[0-5]|[4-9])|6")


def is_card(text: str) -> bool:
    """Whether the digits are those of a payment card: an issuer's beginning, 13 to 19, the last one a check digit.

    Beginnings and Luhn's check digit are those of ISO/IEC 7812-1; no issuer's numbers begin with 1, as time stamps do.
    """
    digits = [int(character) for character in text if character.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1 or not _ISSUER.match("".join(map(str, digits))):
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
