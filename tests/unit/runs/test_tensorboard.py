"""TensorBoard event files: their bytes against known values and against TensorBoard's own reader."""

import subprocess
import sys

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from surefoot.runs.tensorboard import EventFile, crc32c


def test_the_checksum_has_its_published_values():
    """RFC 3720, appendix B.4, and the check value of CRC-32C."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_tensorboards_own_reader_finds_every_scalar(tmp_path):
    written = {0: {"a": 1.5, "ü/long name": -3e30}, 127: {"a": 0.0}, 2**40: {"a": 1e-30}}
    file = EventFile(tmp_path)
    for step, scalars in written.items():
        file.scalars(step, scalars)
    file.close()
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    for name in ("a", "ü/long name"):
        found = {event.step: event.value for event in events.Scalars(name)}
        wanted = {step: scalars[name] for step, scalars in written.items() if name in scalars}
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-38)


def test_writing_events_imports_no_other_library():
    program = "import sys, surefoot.runs.tensorboard as t; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"torch", "tensorboard", "tensorboardX", "google.protobuf"} & set(done.stdout.split())
