r"""Secrets known by what stands before them: the name of a field, a header, an address, an option of a command.

Their values look like nothing in particular, so the form around them decides what a secret is. A quoted value is one
unless it is a placeholder; an unquoted one may be a word, a type or a variable, and must look like none of these.
"""

from __future__ import annotations

_PASSWORDS = ("password", "passwd", "passphrase", "pwd")
_NAMES = (
    *(*_PASSWORDS, "secret"),
    *(
        f"{owner}{joint}key"
        for owner in ("api", "access", "account", "auth", "client", "private")
        for joint in ("", "_", "-")
    ),
    *(f"{owner}{joint}token" for owner in ("access", "auth", "id", "refresh", "session") for joint in ("", "_", "-")),
)
"""What a secret is called where it is assigned; a longer name may hold them (`DB_PASSWORD_2`)."""
_CONSTANTS = tuple(name.upper() for name in _NAMES if "-" not in name)
_NAME = f"(?i:{'|'.join(_NAMES)})"

_MARK = r"\\{0,7}[\"']"
"""A quotation mark, behind one, three or seven backslashes in a JSON text inside others."""
_THEN = rf"(?:{_MARK})?\]?\s{{0,3}}(?:=>|:=|[:=]|\b(?i:is)\b)\s{{0,3}}@?"
_HEADER = rf"(?:{_MARK})?\]?\s{{0,3}}[:=,]\s{{0,3}}(?:{_MARK})?"

_BARE = r"[^\s\"',;<>{}\[\]()&\\]"
"""A character of an unquoted value."""
_NOUN = r"(?:password|passwd|passphrase|pwd|secret|token|key|credentials?)"
_PLACEHOLDER = (
    # What stands where a secret would, all of it: a type, a word for one, an algorithm, a name of one, an address, a
    # mask, a template, a variable. What only begins like one is a secret (`my_S3cretPass`, `$3cretPa55w`).
    r"(?i:str|string|text|int\d*|integer|number|bool|boolean|object|none|null|undefined|required|optional|hidden|redacted"
    r"|example|placeholder|changeme|authentication|authorization|incorrect|sha-?\d+|base\d\d|utf-?8|ed25519|secp256[kr]1"
    rf"|(?:your|my)[_-][a-z_-]*\d?|(?:[a-z]{{1,20}}+[_-]){{0,4}}{_NOUN}s?(?:[_-][a-z]{{1,20}}+){{0,3}}_?\d?"
    rf"|https?:[^\s\"'\\]*|[a-z_-]{{0,12}}\.{{3}}|[*.•x]{{3,}}\w{{0,4}}"
    r"|<[^\"']*>|\[[^\"']*\]|[$%]?\{[^\"']*\}|%[^\s\"'%]*%|\$[a-z_]\w*)"
)
_PROSE = (
    r"(?i:[^\"'\\\r\n]{0,80}?\b(?:an?|and|are|as|at|be|by|for|from|has|if|in|is|it|must|no|not|of|on|or|that|the|this|to|too"
    r"|was|with|you|your|field|user|users|password|passwords|secret|token|key|missing|invalid|wrong|incorrect|required"
    r"|characters|string|value)\b)"
)
_WORDS = r"(?:[A-Za-z]{3,12}-){2,9}[A-Za-z]{3,12}"
_CODE = r"[A-Za-z_]\w*+(?:(?:\.[A-Za-z_]\w*+){0,20}[(\[]|\.[A-Za-z_])"
"""A call, an element, an attribute."""
_QUOTED = rf"(?P<quote>{_MARK})(?!{_PLACEHOLDER}(?P=quote))[^\"'\\\s]{{6,200}}+(?P=quote)"
_UNQUOTED = rf"(?!{_CODE})(?!{_PLACEHOLDER}(?!{_BARE}))(?!{_NAME}\w{{0,20}}\s{{0,3}}[:=])"
_VALUE = rf"(?P<secret>{_QUOTED}|{_UNQUOTED}(?:(?={_BARE}{{0,200}}?\d){_BARE}{{7,200}}+|(?!{_PROSE}){_WORDS}(?![\w-])))"
_OPAQUE = r"(?=[\d._~+/=%-]{0,200}+[A-Za-z])(?=(?:[A-Za-z._~+/=%-]{0,200}+\d){2})[A-Za-z0-9._~+/=%-]{10,400}+"
"""Letters and at least two digits: not a count, not a word."""

NAMED: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    # password=..., "api_key": "...", CLIENT_SECRET='...'
    ("Password", rf"{_NAME}(?i:[a-z0-9_-]{{0,20}}+){_THEN}{_VALUE}", _NAMES, ()),
    (
        "Password",
        # "password": "four words and no sentence".
        (
            rf"(?i:{'|'.join(_PASSWORDS)}){_THEN}(?P<secret>(?P<quote>{_MARK})(?!{_PROSE})(?=\w)"
            r"[^\"'\\\r\n<>{}\[\]()]{6,80}+(?<!\s)(?P=quote))"
        ),
        _PASSWORDS,
        (),
    ),
    (
        "Password",
        # Where a value is no code: DB_PASSWORD=..., ?password=..., Server=...;Password=...
        (
            rf"(?:(?<=[?&;]){_NAME}|(?:{'|'.join(_CONSTANTS)})(?:_(?:ACCESS_)?KEY)?(?:_?\d{{1,2}})?)="
            rf"(?![./~]){_UNQUOTED}(?P<secret>{_BARE}{{6,200}}+)"
        ),
        _NAMES,
        (),
    ),
    (
        "Password",
        # A count is called `tokens` or has no letters; a page's token is no secret.
        (
            rf"(?i:(?<!page)(?<!page_)token){_THEN}(?:{_MARK})?(?!{_CODE})(?!{_PLACEHOLDER}(?!{_BARE}))"
            rf"(?P<secret>{_OPAQUE})(?!{_BARE}|[(\[])"
        ),
        ("token",),
        (),
    ),
    (
        "Password",
        rf"(?i:{'|'.join((*_NAMES, 'token'))})>(?!{_PLACEHOLDER}<)(?P<secret>[^\s<>{{}}\[\]]{{6,200}}+)(?=</)",
        (*_NAMES, "token"),
        (),
    ),
    (
        "Password",
        (
            r"(?i:(?<!\S)--?(?:[a-z]{1,20}-)?(?:password|passwd|passphrase|secret|token|api-?key)(?:=|\s))"
            rf"{_VALUE}"
        ),
        (),
        tuple(f"-{name}" for name in ("password", "passwd", "passphrase", "secret", "token", "apikey", "api-key")),
    ),
    (
        "Password",
        # The option of a command: curl -u name:..., mysql -p..., sshpass -p ...
        (
            r"\b(?:(?:curl|wget)\b(?:(?!curl|wget)[^\n|;]|(?<=\\)\n){0,300}?\s(?:-u|--user)[ =]?[\"']?"
            r"[^\s:\"'$<>{}]{1,64}:"
            r"|(?:mysql(?:dump|admin)?|mariadb)\b(?:(?!mysql|mariadb)[^\n|;]|(?<=\\)\n){0,300}?\s-p[\"']?"
            r"|sshpass\s{1,4}-p\s{0,4}[\"']?)"
            r"(?!\$[A-Za-z_({])(?P<secret>[^\s\"'<>{}\\]{4,200}+)"
        ),
        ("curl", "wget", "mysql", "mariadb", "sshpass"),
        (),
    ),
)
"""Fields and options: kind, expression, what every match begins with, and literals of which every match holds one."""

CREDENTIALS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Basic Auth Credentials",
        # Up to the last @ of the authority; a password with a slash is one only where no other host would be.
        (
            r"://[^\s/?#\"'<>@:{}\[\]]{0,100}:(?!\$[A-Za-z_]|\d{0,5}[/?#])"
            r"(?P<secret>[^\s/?#\"'<>{}\\]{1,200}|(?:(?!://)[^\s?#\"'<>{}\\]){1,200})"
            r"@(?=[A-Za-z0-9][A-Za-z0-9._-]{0,200}+(?::\d{1,5}+)?+(?![\w:@.-])|[$\[{(<])"
        ),
        ("://",),
    ),
    (
        "Bearer Token",
        (
            rf"(?i:authorization{_HEADER}(?:bearer|token|api-?key)\s{{1,4}})(?!{_PLACEHOLDER}(?![\w.~+/=-]))"
            r"(?P<secret>[A-Za-z0-9._~+/-]{8,}+=*+)"
        ),
        ("authorization",),
    ),
    (
        "Bearer Token",
        r"(?i:\bbearer\s{1,4})(?P<secret>(?=[A-Za-z._~+/-]{0,80}\d)[A-Za-z0-9._~+/-]{20,}+=*+)",
        ("bearer",),
    ),
    (
        "Basic Auth Credentials",
        rf"(?i:authorization{_HEADER}basic\s{{1,4}})(?P<secret>[A-Za-z0-9+/]{{8,}}+=*+)",
        ("authorization",),
    ),
    (
        "Cookie",
        # All the pairs, told from prose by the length of a value.
        (
            rf"(?i:cookie{_HEADER})(?P<secret>(?:[\w.%-]{{1,80}}+=[^\s;\"'\\<>{{}}()]{{0,80}}+;\s?){{0,20}}"
            r"[\w.%-]{1,80}+=[^\s;,\"'\\<>{}()]{8,4000}+(?:;\s?[\w.%-]{1,80}+=[^\s;\"'\\<>{}()]{1,4000}+)*)"
        ),
        ("cookie",),
    ),
    ("Access Signature", r"(?i:(?<![a-z])sig=)(?P<secret>[A-Za-z0-9%+/_-]{30,200}+=*+)", ("sig=",)),
)
"""Headers and addresses: kind, expression, and what every match begins with."""
