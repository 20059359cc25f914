"""The interface of object stores and web servers, their errors in one line, and repeated requests.

Credentials come from the usual places of the libraries that read a store, and are in no message.
"""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from lookalike.errors import InputError, LookalikeError, MissingInput, OutputError
from lookalike.io.addresses import (
    WEB_SCHEMES,
    check_address,
    scheme_of,
    shown,
    without_secrets,
)

T = TypeVar("T")
ATTEMPTS = 5  # requests for one range before the run ends
FIRST_WAIT = 0.1  # seconds before the second attempt; each further wait is FURTHER_WAITS times as long
FURTHER_WAITS = 3.0
BUSY_STATUS = (408, 425, 429, 500, 502, 503, 504)  # HTTP states after which a request is repeated
FORBIDDEN_STATUS = (401, 403)
_REFUSED = re.compile(r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|UNAUTHORI[SZ]ED|HTTP status 40[13]")
_NO_CREDENTIALS = re.compile(r"no credentials|DefaultAzureCredential", re.IGNORECASE)
_STATUS = re.compile(r"HTTP (?:status|response code) (\d{3})")
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws (for public buckets: s3://anonymous@BUCKET/...)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth (for public buckets: gs://anonymous@BUCKET/...)",
    "az": "AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or az login",
    "hf": "HF_TOKEN, or hf auth login",
}
HUB_SCHEME = "hf"
ALIASES = {"gcs": "gs", "abfs": "az", "abfss": "az"}


class RequestRefused(OSError):
    """A store refuses a request for good; repeating it does not help. The message says why."""


@dataclass(frozen=True)
class ObjectInfo:
    """What a store says of a file. size: None if it is only known after reading; version: differs for other content.

    ranges: whether parts can be read.
    """

    size: int | None
    version: str
    ranges: bool = True


class ObjectStore(ABC):
    """A store of files. Its methods raise OSError, FileNotFoundError where there is no such file, or RequestRefused."""

    writes = True

    @abstractmethod
    def info(self, address: str) -> ObjectInfo:
        """Return what the store says of a file."""

    @abstractmethod
    def read(self, address: str, start: int, end: int, version: str) -> bytes:
        """Return the bytes from start to end. version: that of `info`; raises InputChanged if it is another now."""

    def stream(self, address: str) -> Iterator[bytes]:
        """Yield the whole file, for stores that read no parts."""
        raise NotImplementedError

    def files(self, address: str) -> list[str]:
        """Return the addresses of all files in a folder, in order; none if there is no such folder."""
        return []

    def upload(self, file: Path, address: str) -> None:
        """Write a local file, which appears whole or not at all."""
        raise NotImplementedError


def store_of(address: str) -> ObjectStore:
    """Return the store of an address."""
    check_address(address)
    parts = urlsplit(address)
    with _explained(shown(address), scheme_of(address)):
        return _store(scheme_of(address), "" if parts.scheme in WEB_SCHEMES else parts.netloc, os.getpid())


@cache
def _store(scheme: str, host: str, process: int) -> ObjectStore:
    if scheme in WEB_SCHEMES or scheme == HUB_SCHEME:
        from lookalike.io.fsspec_stores import HubStore, WebStore

        return HubStore(scheme) if scheme == HUB_SCHEME else WebStore(scheme)
    from lookalike.io.arrow_store import ArrowStore

    return ArrowStore(f"{scheme}://{host}/")


def repeated(work: Callable[[], T], name: str, scheme: str, *, writing: bool = False) -> T:
    """Return what `work` returns; repeat it after errors that may pass, such as a broken connection.

    name: of the file, for messages. Raises InputError, or OutputError when writing.
    """
    with _explained(name, scheme, writing=writing):
        for attempt in range(ATTEMPTS):
            try:
                return work()
            except (RequestRefused, FileNotFoundError, PermissionError, LookalikeError):
                raise
            except Exception as error:
                if _lasts(error) or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(FIRST_WAIT * FURTHER_WAITS**attempt)
        raise AssertionError("unreachable")


def _lasts(error: Exception) -> bool:
    """Return whether an error would come again: the client's mistakes, not those of the network or the server."""
    status = getattr(error, "status", None) or next(iter(_STATUS.findall(str(error))), None)
    if _REFUSED.search(str(error)) or _NO_CREDENTIALS.search(str(error)):
        return True
    return status is not None and 400 <= int(status) < 500 and int(status) not in BUSY_STATUS


class _explained:  # noqa: N801  (a context manager, which keeps the traceback short)
    """Convert errors of a store to one line that names the address, without secrets."""

    def __init__(self, name: str, scheme: str, *, writing: bool = False) -> None:
        self._name, self._scheme, self._writing = name, ALIASES.get(scheme, scheme), writing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, Exception) or isinstance(error, LookalikeError):
            return
        text = str(error)
        refused = isinstance(error, PermissionError) or any(f"HTTP {status}" in text for status in FORBIDDEN_STATUS)
        refused = refused or bool(_REFUSED.search(text) or _NO_CREDENTIALS.search(text))
        if isinstance(error, FileNotFoundError) and not self._writing:
            raise MissingInput(f"no such file: {self._name}.") from None
        hint = CREDENTIALS.get(self._scheme)
        if refused:
            reason = f"access is denied. Credentials are read from {hint}" if hint else "access is denied"
        else:
            first = (text.splitlines() or [type(error).__name__])[0] or type(error).__name__
            reason = without_secrets(re.sub(r"^\[Errno -?\d+\] ", "", first)).rstrip(".")[:200]
        # Without the cause: its text, which a traceback would show, may hold a signed address.
        if self._writing:
            raise OutputError(f"cannot write {self._name}: {reason}.") from None
        raise InputError(f"{self._name} cannot be read: {reason}.") from None


def upload(file: Path, address: str) -> None:
    """Write a local file to an address, where it appears whole or not at all."""
    store = store_of(address)
    repeated(lambda: store.upload(file, address), shown(address), scheme_of(address), writing=True)


def exists_at(address: str) -> bool:
    """Return whether there is a file at an address. Raises OutputError for an address that cannot be written to."""
    store, name = store_of(address), shown(address)
    if not store.writes:
        raise OutputError(f"{name} can only be read. Write to a file, or to s3://, gs://, az:// or hf://.")
    with suppress(MissingInput):
        repeated(lambda: store.info(address), name, scheme_of(address))
        return True
    return False
