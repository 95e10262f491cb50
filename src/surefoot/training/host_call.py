"""A compiled program that asks Python a question and goes on with the answer.

A call of a compiled program costs more than a small network needs to learn: one that runs for many steps, and
asks for the environment's response in each, costs next to nothing per step. JAX's own callbacks would do, but
programs that have one are not stored on disk and would be compiled again by every command. So the question is
a call by name, through the C interface that XLA offers for such calls (`xla/ffi/api/c_api.h`).
"""

import ctypes
import itertools
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jaxtyping import Array, Int, UInt8

Result = TypeVar("Result")
Answer = Callable[[int], bytes]
"""From a question, a whole number, to the bytes of the answer."""

TARGET = "surefoot_host_call"
"""The name under which XLA knows the handler."""
API_VERSION = 0, 3
METADATA_EXTENSION = 1

_askers: dict[int, Answer] = {}
"""Who answers the programs that run at present, by their numbers."""
_numbers = itertools.count()


class _Extension(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p)]


class _Version(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    ]


class _Metadata(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("version", _Version)]


class _MetadataExtension(ctypes.Structure):
    _fields_ = [("base", _Extension), ("metadata", ctypes.POINTER(_Metadata))]


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Buffers(ctypes.Structure):
    """Arguments or results."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("buffers", ctypes.POINTER(ctypes.POINTER(_Buffer))),
    ]


class _CallFrame(ctypes.Structure):
    """What XLA hands over at each call; further fields follow."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.POINTER(_MetadataExtension)),
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("arguments", _Buffers),
        ("results", _Buffers),
    ]


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_CallFrame))
def _handler(pointer: Any) -> None:
    """Answer a call of XLA; the first one asks for the version of the interface only."""
    frame = pointer.contents
    if frame.extension and frame.extension.contents.base.type == METADATA_EXTENSION:
        version = frame.extension.contents.metadata.contents.version
        version.major, version.minor = API_VERSION
        return
    number, question = frame.arguments.buffers[0].contents, frame.arguments.buffers[1].contents
    asker = _askers[ctypes.c_int32.from_address(number.data).value]
    answer = asker(ctypes.c_int32.from_address(question.data).value)
    ctypes.memmove(frame.results.buffers[0].contents.data, answer, len(answer))


def _capsule(handler: Any) -> Any:
    """A C function as an object that JAX registers."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.cast(handler, ctypes.c_void_p), None, None)


jax.ffi.register_ffi_target(TARGET, _capsule(_handler), platform="cpu")


def ask(asker: Int[Array, ""], question: Int[Array, ""], length: int) -> UInt8[Array, " length"]:
    """Inside a compiled program: the bytes that the asker of this number answers to a question."""
    answer = jax.ShapeDtypeStruct((length,), jnp.uint8)
    if jax.default_backend() == "cpu":
        return jax.ffi.ffi_call(TARGET, answer, has_side_effect=True)(asker, question)

    def on_host(asker: Any, question: Any) -> Any:
        return np.frombuffer(_askers[int(asker)](int(question)), np.uint8)

    return io_callback(on_host, answer, asker, question, ordered=True)


class Served(NamedTuple):
    """What came of a program that was served."""

    result: Any
    error: BaseException | None
    """What answering raised: the program was told to end then."""


def serve(program: Callable[[np.int32], Any], answer: Answer, farewell: bytes) -> Served:
    """Run a program that asks, and answer it; once answering raises, every further answer is the farewell.

    The program runs in a thread of its own, and answers are given in this one: environments may be bound to
    the thread that made them, and signals reach the main thread only.
    """
    number = next(_numbers) % 2**31
    questions, answers = SimpleQueue[int | None](), SimpleQueue[bytes]()
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def ask_this_thread(question: int) -> bytes:
        questions.put(question)
        return answers.get()

    def run() -> None:
        try:
            outcome.append(jax.block_until_ready(program(np.int32(number))))
        except BaseException as error:
            failure.append(error)
        finally:
            questions.put(None)

    _askers[number] = ask_this_thread
    thread = threading.Thread(target=run, name="surefoot-program")
    thread.start()
    error: BaseException | None = None
    is_over = False
    while not is_over:
        question: int | None = None
        given = farewell
        try:
            question = questions.get()
            if question is None:
                is_over = True
            elif error is None:
                given = answer(question)
        except BaseException as raised:
            # Whatever it is, the program must be told to end before it goes on its way.
            error = raised
        if question is not None:
            answers.put(given)
    thread.join()
    del _askers[number]
    if failure:
        raise failure[0]
    return Served(outcome[0], error)
