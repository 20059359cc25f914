"""Read a Parquet file with another Arrow schema than the one stored in it."""

from __future__ import annotations

import base64

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.io.parquet_pages import varint

SCHEMA_KEY = b"\x0cARROW:schema"  # in Thrift's compact protocol a string follows its length
STRING_FIELD = 0x18  # the next field of the same struct, a string
PARQUET_MAGIC = b"PAR1"


def with_arrow_schema(metadata: pq.FileMetaData, schema: pa.Schema) -> pq.FileMetaData:
    """Return metadata with which the columns are read in the types of `schema`.

    Arrow reads a column as a dictionary if the stored schema says so, without an option to disable it, and then holds a
    whole row group of the column in memory. The schema is an entry of the file's key-value metadata, which is replaced
    here. Metadata without that entry is returned unchanged.
    """
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)
    data = sink.getvalue().to_pybytes()
    footer = data[4:-8]
    key = footer.rfind(SCHEMA_KEY)
    if key < 0:
        return metadata
    at = key + len(SCHEMA_KEY)
    assert footer[at] == STRING_FIELD  # by the format, a key is followed by its value
    length, start = varint(footer, at + 1)
    value = base64.b64encode(schema.serialize())
    footer = footer[: at + 1] + _as_varint(len(value)) + value + footer[start + length :]
    return pq.read_metadata(pa.BufferReader(PARQUET_MAGIC + footer + len(footer).to_bytes(4, "little") + PARQUET_MAGIC))


def _as_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
