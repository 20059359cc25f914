"""S3, Google Cloud Storage and Azure, by pyarrow."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lookalike.io.addresses import ANONYMOUS, scheme_of
from lookalike.io.stores import ALIASES, ATTEMPTS, ObjectInfo, ObjectStore, RequestRefused

NOT_THERE = "No such file or directory"
UPLOAD_BYTES = 8 << 20  # bytes of an upload that are written at a time
CONNECT_SECONDS, REQUEST_SECONDS = 10, 60  # of S3


class ArrowStore(ObjectStore):
    """S3, Google Cloud Storage and Azure, by pyarrow."""

    def __init__(self, address: str) -> None:
        self._fs: Any = _arrow_file_system(address)
        self._scheme = scheme_of(address)
        self._host = urlsplit(address).netloc
        self._open: dict[str, Any] = {}

    def info(self, address: str) -> ObjectInfo:
        from pyarrow.fs import FileType

        self._open.pop(address, None)
        found = self._fs.get_file_info(self._key(address))
        if found.type != FileType.File:
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return ObjectInfo(found.size, f"{found.size} {found.mtime_ns}")

    def read(self, address: str, start: int, end: int, version: str) -> bytes:
        file = self._open.get(address)
        if file is None:
            file = self._open.setdefault(address, self._fs.open_input_file(self._key(address)))
        data: bytes = file.read_at(end - start, start)
        return data

    def files(self, address: str) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        key = self._key(address).rstrip("/")
        try:
            inside = self._fs.get_file_info(FileSelector(key, recursive=True, allow_not_found=True))
        except OSError as error:  # Google's client raises it in spite of that
            if isinstance(error, FileNotFoundError) or error.errno == errno.ENOENT or NOT_THERE in str(error):
                return []
            raise
        names = sorted(one.path[len(key) + 1 :] for one in inside if one.type == FileType.File)
        return [f"{address.rstrip('/')}/{name}" for name in names]

    def upload(self, file: Path, address: str) -> None:
        # A stream that is not closed is never published, so an interrupted upload leaves nothing. Its destructor would
        # close it, so a stream that failed is kept.
        stream = self._fs.open_output_stream(self._key(address), buffer_size=None)
        try:
            with open(file, "rb") as source:
                while piece := source.read(UPLOAD_BYTES):
                    stream.write(piece)
        except BaseException:
            _unfinished.append(stream)
            raise
        stream.close()

    def _key(self, address: str) -> str:
        host, _, key = address.partition("://")[2].partition("/")
        if self._scheme in ("abfs", "abfss"):
            host = host.partition("@")[0]
        return f"{host.removeprefix(f'{ANONYMOUS}@')}/{key}"


_unfinished: list[Any] = []  # uploads that were stopped


def _arrow_file_system(address: str) -> Any:
    from pyarrow import fs

    parts, scheme, env = urlsplit(address), ALIASES.get(scheme_of(address), scheme_of(address)), os.environ
    anonymous = parts.netloc.startswith(f"{ANONYMOUS}@")
    if scheme == "s3":
        endpoint = env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL")
        region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
        if region is None and endpoint is None:
            with suppress(OSError):
                region = fs.resolve_s3_region(parts.netloc.rpartition("@")[2])
        return fs.S3FileSystem(
            region=region, anonymous=anonymous, endpoint_override=endpoint, connect_timeout=CONNECT_SECONDS,
            request_timeout=REQUEST_SECONDS,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        )  # fmt: skip
    if scheme == "gs":
        return fs.GcsFileSystem(anonymous=anonymous)
    return _azure(parts.netloc.partition("@")[2].partition(".")[0])


def _azure(account: str) -> Any:
    """Return the file system of a storage account, or of the one that the environment names."""
    from pyarrow import fs

    env = os.environ
    said = dict(part.split("=", 1) for part in env.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";") if "=" in part)
    account = account or env.get("AZURE_STORAGE_ACCOUNT_NAME") or said.get("AccountName", "")
    if not account:
        raise RequestRefused("no storage account; set AZURE_STORAGE_ACCOUNT_NAME, or use abfs://CONTAINER@ACCOUNT...")
    place = urlsplit(said.get("BlobEndpoint", ""))
    server = {f"{kind}_storage_{part}": value for kind in ("blob", "dfs") for part, value in
              (("authority", place.netloc), ("scheme", place.scheme)) if value}  # fmt: skip
    key = env.get("AZURE_STORAGE_KEY") or env.get("AZURE_STORAGE_ACCOUNT_KEY") or said.get("AccountKey")
    token = env.get("AZURE_STORAGE_SAS_TOKEN") or said.get("SharedAccessSignature")
    return fs.AzureFileSystem(account, account_key=key, sas_token=token, **server)
