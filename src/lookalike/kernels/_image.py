"""The file format of a kernel's machine code, and its extraction from the object file that the compiler produces."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import asdict, dataclass
from typing import NamedTuple

IMAGE_FORMAT = b"lookalike kernel 1\n"
DIGEST_BYTES = 16
PAGE = 4096
X86_64, RELOCATABLE = 62, 1  # e_machine, e_type of ELF
PROGBITS, SYMBOLS, RELOCATIONS, NO_BITS = 1, 2, 4, 8  # sh_type
WRITABLE, ALLOCATED = 1, 2  # sh_flags
UNDEFINED, COMMON, LARGE_COMMON = 0, 0xFFF2, 0xFF02  # st_shndx
ABSOLUTE_64 = 1  # R_X86_64_64: the only relocation in code of the large model


class UnsupportedCode(Exception):
    """The object file or image has a form that the loader does not handle; the compiler has to load it."""


@dataclass(frozen=True)
class Image:
    """Machine code and constants of one kernel, and the addresses to fill in before it can run.

    The first `code_size` bytes become read-only and executable, the rest, up to `size` bytes, stays writable.
    `relocations` is a sequence of (place, target, addend), three 64-bit integers each: write the address of the target
    plus the addend at the place. Target 0 is the image, target i is symbols[i-1].
    """

    code: bytes
    relocations: bytes
    symbols: tuple[str, ...]
    code_size: int
    size: int
    entry: int
    environment: int

    def to_bytes(self) -> bytes:
        """Return the content of a file; `from_bytes` detects if it is damaged."""
        fields = {name: value for name, value in asdict(self).items() if name not in ("code", "relocations")}
        head = json.dumps(fields).encode()
        body = struct.pack("<QQ", len(head), len(self.relocations)) + head + self.relocations + self.code
        return IMAGE_FORMAT + hashlib.blake2b(body, digest_size=DIGEST_BYTES).digest() + body

    @classmethod
    def from_bytes(cls, content: bytes) -> Image:
        """Read the content of a file, or raise UnsupportedCode."""
        start = len(IMAGE_FORMAT) + DIGEST_BYTES
        digest = hashlib.blake2b(memoryview(content)[start:], digest_size=DIGEST_BYTES).digest()
        if content[:start] != IMAGE_FORMAT + digest:
            raise UnsupportedCode("not a file of this format, or damaged")
        head, relocations = struct.unpack_from("<QQ", content, start)
        start += 16
        fields = json.loads(content[start : start + head])
        start += head
        symbols = tuple(fields.pop("symbols"))
        return cls(content[start + relocations :], content[start : start + relocations], symbols, **fields)


class _Section(NamedTuple):
    """A section header of an ELF file."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    """An entry of the symbol table of an ELF file."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


def _layout(
    sections: list[_Section], symbols: list[_Symbol], names: bytes
) -> tuple[dict[int, int], dict[int, int], int, int]:
    """Return the places of sections and of common symbols, the size of the read-only part, and the whole size."""
    places: dict[int, int] = {}
    commons: dict[int, int] = {}
    end = read_only = 0
    for wanted in (0, WRITABLE):
        for i, section in enumerate(sections):
            # the unwind table (.eh_frame, another kind of section) is left out: no kernel unwinds the stack
            if section.kind not in (PROGBITS, NO_BITS) or not section.flags & ALLOCATED:
                continue
            if section.flags & WRITABLE == wanted and not _text(names, section.name).startswith(".eh_frame"):
                end += -end % max(section.alignment, 64)
                places[i] = end
                end += section.size
        if wanted == 0:
            read_only = end = end + -end % PAGE
    for i, symbol in enumerate(symbols):
        if symbol.section in (COMMON, LARGE_COMMON):
            end += -end % max(symbol.value, 8)
            commons[i] = end
            end += symbol.size
    return places, commons, read_only, end + -end % PAGE


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()


def extract(elf: bytes, entry: str, environment: str) -> Image:
    """Return the image of an object file whose function `entry` is to be called, or raise UnsupportedCode.

    `environment` is the variable that must point to the function's numba environment.
    """
    if elf[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<HH", elf, 16) != (RELOCATABLE, X86_64):
        raise UnsupportedCode("not a relocatable ELF file for x86-64")
    (table,), (count, name_section) = struct.unpack_from("<Q", elf, 0x28), struct.unpack_from("<HH", elf, 0x3C)
    sections = [_Section(*struct.unpack_from("<IIQQQQIIQQ", elf, table + 64 * i)) for i in range(count)]
    table_of_symbols = next(section for section in sections if section.kind == SYMBOLS)
    names = _content(elf, sections[table_of_symbols.link])
    symbols = [_Symbol(*fields) for fields in struct.iter_unpack("<IBBHQQ", _content(elf, table_of_symbols))]
    places, commons, read_only, size = _layout(sections, symbols, _content(elf, sections[name_section]))
    code = bytearray()
    for i, place in places.items():
        if sections[i].kind != NO_BITS:
            code += bytes(place - len(code)) + _content(elf, sections[i])

    addresses = {i: places[s.section] + s.value for i, s in enumerate(symbols) if s.section in places} | commons
    named = {_text(names, symbols[i].name): address for i, address in addresses.items()}
    if entry not in named or environment not in named:
        raise UnsupportedCode("the function or its environment is missing")
    outside = {i: _text(names, s.name) for i, s in enumerate(symbols) if s.section == UNDEFINED}
    relocations, externals = _relocations(elf, sections, places, addresses, outside)
    return Image(bytes(code), relocations, externals, read_only, size, named[entry], named[environment])


def _relocations(
    elf: bytes, sections: list[_Section], places: dict[int, int], addresses: dict[int, int], outside: dict[int, str]
) -> tuple[bytes, tuple[str, ...]]:
    """Return the relocations of an image and the external symbols that they refer to.

    places: of sections, by index; addresses: of symbols in the image, by index; outside: names of the other symbols.
    """
    externals: dict[str, int] = {}
    relocations = bytearray()
    for section in sections:
        if section.kind != RELOCATIONS or section.info not in places:
            continue
        for offset, info, addend in struct.iter_unpack("<QQq", _content(elf, section)):
            symbol, kind, target = info >> 32, info & 0xFFFFFFFF, 0
            if kind != ABSOLUTE_64 or (symbol not in addresses and symbol not in outside):
                raise UnsupportedCode(f"relocation {kind} of symbol {symbol}")
            if symbol in addresses:
                addend += addresses[symbol]
            else:
                target = externals.setdefault(outside[symbol], len(externals) + 1)
            relocations += struct.pack("<qqq", places[section.info] + offset, target, addend)
    return bytes(relocations), tuple(externals)


def _content(elf: bytes, section: _Section) -> bytes:
    return elf[section.offset : section.offset + section.size]
