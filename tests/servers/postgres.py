"""A real PostgreSQL server for tests: the one that GPA_TEST_POSTGRES names, or one of our own in a temporary folder.

Debian keeps the programs in /usr/lib/postgresql/VERSION/bin, off the path. They refuse to run as root: then they run as
`postgres` or `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

VARIABLE = "GPA_TEST_POSTGRES"


class Server:
    """A server that can be stopped and started."""

    def __init__(self, bin_folder: Path, folder: Path) -> None:
        self._bin = bin_folder
        self._data = folder / "data"
        self._log = folder / "log"
        self._user = _user()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        if self._user:
            folder.chmod(0o755)
            self._data.mkdir()
            os.chown(self._data, self._user.pw_uid, self._user.pw_gid)
            self._log.touch()
            os.chown(self._log, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "--pgdata", self._data, "--username", "gpa", "--auth", "trust", "--no-sync", "-E", "UTF8")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://gpa@127.0.0.1:{self._port}/{database}"

    def start(self) -> None:
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self._run("pg_ctl", "start", "--wait", "--pgdata", self._data, "--log", self._log, "-o", options)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--wait", "--pgdata", self._data, "--mode", "immediate")

    def _run(self, program: str, *arguments: object) -> None:
        user = self._user
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        done = subprocess.run(
            [str(self._bin / program), *map(str, arguments)],
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,  # a server keeps a pipe open
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd="/",
            check=False,
            **as_user,  # type: ignore[call-overload]
        )
        if done.returncode:
            raise OSError(f"{program} ended with {done.returncode}: {done.stdout!r}")


def _user() -> pwd.struct_passwd | None:
    """Whom to run as when this is root."""
    if os.geteuid():
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def _bin_folder() -> Path | None:
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = shutil.which("initdb") or (debian[-1] if debian else None)
    return Path(found).parent if found else None


@contextmanager
def server() -> Iterator[Server]:
    """A server of our own, started; the test is skipped where there is none to start."""
    bin_folder = _bin_folder()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed (apt install postgresql), and no server to stop and start is given")
    folder = Path(tempfile.mkdtemp(prefix="gpa-postgres-"))
    try:
        made = Server(bin_folder, folder)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server_url() -> Iterator[str]:
    """The URL of a server: the given one, or one of our own."""
    given = os.environ.get(VARIABLE)
    if given:
        yield given
    elif _bin_folder() is None:
        pytest.skip(f"no PostgreSQL: set {VARIABLE} to the URL of a server, or apt install postgresql")
    else:
        with server() as made:
            yield made.url()


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of a fresh database on this server, gone afterwards."""
    import psycopg
    from psycopg import sql

    name = f"gpa_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server that all tests of this process share."""
    with server_url() as url:
        yield url


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database."""
    with database(postgres_server) as url:
        yield url
