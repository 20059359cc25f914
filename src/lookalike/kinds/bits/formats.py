"""Parse codes written as hexadecimal or 0/1 text, integers or bytes, all of one length, into 64-bit words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import Bits
from lookalike.errors import InputError
from lookalike.io.texts import Where
from lookalike.kinds.bits.options import Form as Form

FORMS: tuple[Form, ...] = ("auto", "hex", "binary", "int")
NIBBLE_VALUES = np.full(256, 255, np.uint8)
NIBBLE_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
NIBBLE_VALUES[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)
ONE_LENGTH = "expected codes of one length. For decimal numbers use `form='int'`."


def parse(column: pa.Array, *, form: Form, where: Where) -> Bits:
    """Parse the codes of a column; a null becomes all zeros.

    >>> parse(pa.array(["0xF0", "0x0f"]), form="auto", where=str).words.tolist()
    [[240], [15]]
    """
    dtype = column.type
    if pa.types.is_integer(dtype):
        return _of_integers(column)
    if pa.types.is_fixed_size_binary(dtype):
        return _of_bytes(_fixed(column, dtype.byte_width), 8 * dtype.byte_width)
    if form == "auto" and pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    raw = column.cast(pa.large_binary())
    if form == "int":
        return _of_integers(_decimal(raw, where))
    length, chars = _same_length(raw, where)
    if form == "auto" and (pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype)):
        return _of_bytes(chars, 8 * length)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    if length > 2 and np.all((chars[~missing, 0] == ord("0")) & ((chars[~missing, 1] | 32) == ord("x"))):
        chars, length, form = chars[:, 2:], length - 2, "hex" if form == "auto" else form
    values = NIBBLE_VALUES[chars]
    values[missing] = 0
    if form == "auto":
        form = "binary" if values.max(initial=0) <= 1 else "hex"
    wrong = np.argwhere(values > (1 if form == "binary" else 15))
    if len(wrong):
        row, place = wrong[0].tolist()
        expected = "0 and 1" if form == "binary" else "the digits 0-9 and a-f (or 0 and 1 throughout)"
        raise InputError(
            f"{where(row)}: the code has {chr(chars[row, place])!r} at position {place}; expected {expected}."
        )
    if form == "binary":
        return _of_bytes(np.packbits(values, axis=1, bitorder="little"), length)
    if length % 2:
        values = np.concatenate([np.zeros((len(values), 1), np.uint8), values], axis=1)
    return _of_bytes((values[:, 0::2] << np.uint8(4) | values[:, 1::2])[:, ::-1], 4 * length)


def looks_binary(column: pa.Array) -> bool:
    """Return whether the codes of a text column consist of 0 and 1 only, after 0x if it is there; True for nulls only.

    >>> looks_binary(pa.array(["0110", None])), looks_binary(pa.array(["0210"]))
    (True, False)
    """
    raw = column.drop_null().cast(pa.large_string())
    return bool(pc.all(pc.match_substring_regex(raw, "^(0[xX])?[01]*$")).as_py() is not False)


def _same_length(raw: pa.Array, where: Where) -> tuple[int, npt.NDArray[np.uint8]]:
    """Return (length, u8[n, length]) of texts of equal length; nulls are zeros."""
    offsets = np.frombuffer(raw.buffers()[1], np.int64)[raw.offset : raw.offset + len(raw) + 1] if len(raw) else [0]
    lengths = np.diff(offsets)
    there = raw.is_valid().to_numpy(zero_copy_only=False)
    if not there.any():
        return 0, np.zeros((len(raw), 0), np.uint8)
    length = int(lengths[there][0])
    odd = np.flatnonzero(there & (lengths != length))
    if length == 0 or len(odd):
        row = int(odd[0]) if len(odd) else int(np.flatnonzero(there)[0])
        raise InputError(
            f"{where(row)}: the code has {int(lengths[row])} characters where the first has {length}; {ONE_LENGTH}"
        )
    data = np.frombuffer(raw.buffers()[2] or b"", np.uint8)[int(offsets[0]) : int(offsets[-1])]
    chars = np.zeros((len(raw), length), np.uint8)
    chars[there] = data.reshape(-1, length)
    return length, chars


def _decimal(raw: pa.Array, where: Where) -> pa.Array:
    texts = raw.cast(pa.large_string())
    for dtype in (pa.uint64(), pa.int64()):
        try:
            return texts.cast(dtype)
        except pa.ArrowInvalid:
            continue
    row = next(i for i, text in enumerate(texts.to_pylist()) if text is not None and not _is_word(text))
    raise InputError(f"{where(row)}: the code is {texts[row].as_py()!r}; expected a whole number of at most 64 bits.")


def _is_word(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and -(1 << 63) <= int(text) < 1 << 64


def _of_integers(column: pa.Array) -> Bits:
    plain = column.fill_null(0).to_numpy()
    width = 8 * plain.dtype.itemsize
    return Bits(plain.view(f"u{plain.dtype.itemsize}").astype(np.uint64).reshape(-1, 1), width)


def _fixed(column: pa.Array, size: int) -> npt.NDArray[np.uint8]:
    data = np.frombuffer(column.buffers()[1] or b"", np.uint8)[
        column.offset * size : (column.offset + len(column)) * size
    ]
    rows = data.reshape(len(column), size)
    if column.null_count:
        rows = rows.copy()
        rows[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return rows


def _of_bytes(rows: npt.NDArray[np.uint8], width: int) -> Bits:
    words = max(1, -(-rows.shape[1] // 8))
    padded = np.zeros((len(rows), 8 * words), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return Bits(padded.view("<u8").astype(np.uint64, copy=False), width)
