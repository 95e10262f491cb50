"""TensorBoard event files: scalars in the format that TensorBoard reads, without its libraries.

A file is a sequence of records: length, masked checksum of the length, message, masked checksum of the
message. A message is an `Event` in the wire format of Protocol Buffers.
"""

import struct
import time
from collections.abc import Mapping
from pathlib import Path

from surefoot.system.disk import AppendedFile

Scalars = Mapping[str, float]

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
"""Wire types of Protocol Buffers."""


class EventFile(AppendedFile):
    """A new event file in a directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / f"events.out.tfevents.{time.time_ns()}.surefoot")
        self._add_event(_bytes_field(3, b"brain.Event:2"))

    def scalars(self, step: int, scalars: Scalars) -> None:
        """Append the scalars of a step."""
        for name, value in scalars.items():
            tagged = _bytes_field(1, name.encode()) + _tag(2, FIXED_32) + struct.pack("<f", value)
            summary = _bytes_field(1, tagged)
            self._add_event(_tag(2, VARINT) + _varint(step) + _bytes_field(5, summary))

    def _add_event(self, fields: bytes) -> None:
        message = _tag(1, FIXED_64) + struct.pack("<d", time.time()) + fields
        for part in (struct.pack("<Q", len(message)), message):
            self.add(part + struct.pack("<I", masked_crc32c(part)))


def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _bytes_field(field: int, data: bytes) -> bytes:
    return _tag(field, BYTES) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """A number of at least 0, seven bits to a byte, the lowest first."""
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


CASTAGNOLI = 0x82F63B78
"""The polynomial of CRC-32C, its bits reversed."""


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (CASTAGNOLI if byte & 1 else 0)
    return byte


TABLE = tuple(_table_entry(byte) for byte in range(256))


def crc32c(data: bytes) -> int:
    """The checksum CRC-32C."""
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum = checksum >> 8 ^ TABLE[(checksum ^ byte) & 0xFF]
    return checksum ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as event files store it: rotated by 15 bits, plus a constant."""
    checksum = crc32c(data)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
