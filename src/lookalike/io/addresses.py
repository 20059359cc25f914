"""Recognise addresses of files that are elsewhere, such as s3://bucket/key, and show them without secrets."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

from lookalike.errors import UsageError

SCHEMES = ("s3", "gs", "gcs", "az", "abfs", "abfss", "hf", "http", "https")
LISTED_SCHEMES = ("s3", "gs", "gcs", "az", "abfs", "abfss", "hf")  # of stores that have folders
WEB_SCHEMES = ("http", "https")
KNOWN_SCHEMES = "s3://, gs://, az://, hf:// and https://"
ANONYMOUS = "anonymous"  # the user name for public buckets, as in s3://anonymous@bucket/key
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/+(?=[^/])", re.IGNORECASE)
_SECRETS = re.compile(r"(?<=[?&])[^\s'\")>]+|(?<=://)[^\s/'\"@]*:[^\s/'\"@]*@")


def address_of(path: object) -> str | None:
    """Return the address that a path is; None for a path of this machine.

    A `Path` has one slash where the address has two.

    >>> from pathlib import Path
    >>> address_of("s3://bucket/a.csv"), address_of(Path("HTTPS://host/a.csv")), address_of("c:/a.csv")
    ('s3://bucket/a.csv', 'https://host/a.csv', None)
    """
    if not isinstance(path, str | os.PathLike):
        return None
    name = os.fspath(path)
    if not isinstance(name, str) or (begin := _ADDRESS.match(name)) is None:
        return None
    return f"{begin[1].lower()}://{name[begin.end() :]}"


def scheme_of(address: str) -> str:
    """Return the part before ://.

    >>> scheme_of("s3://bucket/a.csv")
    's3'
    """
    return address.split(":", 1)[0]


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path or an address for people and receipts: without user, password and query, which may hold secrets.

    >>> shown("https://me:pass@host/a.csv?X-Amz-Signature=1f"), shown("a.csv?")
    ('https://host/a.csv?...', 'a.csv?')
    """
    address = address_of(path)
    if address is None:
        return os.fspath(path)
    head, _, rest = address.partition("://")
    host, slash, key = rest.partition("/")
    if head not in ("abfs", "abfss"):  # there it is a container: abfs://container@account.dfs.core.windows.net/key
        host = host.rpartition("@")[2]
    if head not in WEB_SCHEMES:
        return f"{head}://{host}{slash}{key}"
    key, mark, _ = key.partition("?")
    return f"{head}://{host}{slash}{key}{mark and '?...'}"


def without_secrets(text: str) -> str:
    """Remove the queries and passwords of addresses from a message of a library.

    >>> without_secrets("403, url='https://me:pass@host/a?sig=1f'")
    "403, url='https://host/a?...'"
    """
    return _SECRETS.sub(lambda found: "" if found[0].endswith("@") else "...", text)


def check_address(address: str) -> None:
    """Raise UsageError for an address with a password, or without a file."""
    parts = urlsplit(address)
    scheme = scheme_of(address)
    user = parts.netloc.rpartition("@")[0]
    if (":" in user or (user and scheme not in ("abfs", "abfss"))) and unquote(user) != ANONYMOUS:
        raise UsageError(
            f"{shown(address)} holds a user or password; expected an address without. Credentials are read from the "
            "usual places, such as environment variables."
        )
    if not parts.netloc or not parts.path.strip("/"):
        raise UsageError(f"{shown(address)} names no file; expected an address such as s3://bucket/folder/file.csv.")


def name_in_address(address: str) -> str:
    """Return the name of the file: the last part of the path.

    >>> name_in_address("https://host/folder/a%20b.csv.gz?raw=1")
    'a b.csv.gz'
    """
    if scheme_of(address) in WEB_SCHEMES:
        return unquote(urlsplit(address).path).rstrip("/").rpartition("/")[2]
    return address.rstrip("/").rpartition("/")[2]
