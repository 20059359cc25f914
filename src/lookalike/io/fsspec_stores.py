"""Web servers and the Hugging Face hub, by fsspec."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lookalike.errors import InputChanged, MissingExtra
from lookalike.io.addresses import WEB_SCHEMES, scheme_of, shown
from lookalike.io.stores import BUSY_STATUS, ObjectInfo, ObjectStore, RequestRefused

PIECE_BYTES = 1 << 20  # bytes that are read at a time of a file on a server that sends no parts
CONNECT_SECONDS, READ_SECONDS = 10, 60  # without any byte
PARTIAL_CONTENT, RANGE_OUTSIDE = 206, 416
GONE_STATUS = (404, 410)


class HubStore(ObjectStore):
    """A store that fsspec knows: the Hugging Face hub. An upload is one commit."""

    def __init__(self, scheme: str) -> None:
        self._fs: Any = _fsspec(scheme)

    def info(self, address: str) -> ObjectInfo:
        self._fs.invalidate_cache()
        about = self._fs.info(address)
        if about["type"] != "file":
            raise FileNotFoundError(errno.ENOENT, "no such file")
        version = about.get("blob_id") or about.get("etag") or about.get("created") or about.get("mtime")
        return ObjectInfo(int(about["size"]), f"{about['size']} {version}")

    def read(self, address: str, start: int, end: int, version: str) -> bytes:
        data: bytes = self._fs.cat_file(address, start=start, end=end)
        return data

    def files(self, address: str) -> list[str]:
        scheme = scheme_of(address)
        return [f"{scheme}://{str(name).lstrip('/')}" for name in sorted(self._fs.find(address))]

    def upload(self, file: Path, address: str) -> None:
        self._fs.put_file(str(file), address)


class WebStore(ObjectStore):
    """Files on a web server, which are only read."""

    writes = False

    def __init__(self, scheme: str) -> None:
        self._fs: Any = _fsspec(scheme)

    def info(self, address: str) -> ObjectInfo:
        about: ObjectInfo = self._run(self._info(address))
        return about

    def read(self, address: str, start: int, end: int, version: str) -> bytes:
        data: bytes = self._run(self._read(address, start, end, version))
        return data

    def stream(self, address: str) -> Iterator[bytes]:
        answer = self._run(self._begin(address))
        try:
            while piece := self._run(answer.content.read(PIECE_BYTES)):
                yield piece
        finally:
            answer.close()

    def _run(self, work: Any) -> Any:
        from fsspec.asyn import sync

        return sync(self._fs.loop, lambda: work)

    async def _get(self, address: str, span: str) -> Any:
        session = await self._fs.set_session()
        headers = {"Range": f"bytes={span}", "Accept-Encoding": "identity"}
        return session.get(self._fs.encode_url(address), headers=headers)

    async def _begin(self, address: str) -> Any:
        session = await self._fs.set_session()
        answer = await session.get(self._fs.encode_url(address), headers={"Accept-Encoding": "identity"})
        _check_status(answer.status)
        return answer

    async def _info(self, address: str) -> ObjectInfo:
        async with await self._get(address, "0-0") as answer:  # servers treat HEAD and signed addresses differently
            _check_status(answer.status, empty_is_fine=True)
            head = answer.headers
            total = head.get("Content-Range", "").rpartition("/")[2]
            if answer.status == PARTIAL_CONTENT and total.isdecimal():
                return ObjectInfo(int(total), _version(head))
            if total == "0":
                return ObjectInfo(0, _version(head))
            _check_status(answer.status)
            length = head.get("Content-Length", "")
            coded = head.get("Content-Encoding", "identity") not in ("identity", "")
            return ObjectInfo(int(length) if length.isdecimal() and not coded else None, _version(head), ranges=False)

    async def _read(self, address: str, start: int, end: int, version: str) -> bytes:
        async with await self._get(address, f"{start}-{end - 1}") as answer:
            _check_status(answer.status)
            if answer.status != PARTIAL_CONTENT:
                raise OSError(errno.EIO, "the server sent the whole file instead of a part")
            if _version(answer.headers) != version:
                raise InputChanged(shown(address))
            data: bytes = await answer.read()
            return data


def _version(head: Any) -> str:
    total = head.get("Content-Range", "").rpartition("/")[2] or head.get("Content-Length", "")
    return f"{total} {head.get('ETag', '')} {head.get('Last-Modified', '')}"


def _check_status(status: int, *, empty_is_fine: bool = False) -> None:
    """Raise the error for an HTTP status. empty_is_fine: 416, the answer for a range of an empty file, is none."""
    if status < 400 or (empty_is_fine and status == RANGE_OUTSIDE):
        return
    if status in GONE_STATUS:
        raise FileNotFoundError(errno.ENOENT, f"HTTP {status}")
    raise (OSError(errno.EIO, f"HTTP {status}") if status in BUSY_STATUS else RequestRefused(f"HTTP {status}"))


def _fsspec(scheme: str) -> Any:
    try:
        import fsspec

        if scheme not in WEB_SCHEMES:
            return fsspec.filesystem(scheme)
        from aiohttp import ClientTimeout

        # The usual limit is on the whole transfer, which a large file exceeds.
        limits = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
        return fsspec.filesystem(scheme, client_kwargs={"timeout": limits})
    except (ImportError, ValueError) as error:
        raise MissingExtra(f"reading {scheme}:// addresses", "remote") from error
