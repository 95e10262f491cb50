"""Questions of a compiled program to Python: who answers, in which thread, and what ends a program early."""

import signal
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot.training import host_call
from surefoot.training.host_call import ask, serve

FAREWELL = bytes(2)


@jax.jit
def sum_of_answers(asker):
    """Asks 0, 1, 2 ... and adds the second bytes of the answers, as long as their first is 1."""

    def body(carry):
        question, total, _ = carry
        answer = ask(asker, question, 2)
        return question + 1, total + answer[1].astype(jnp.int32), answer[0] == 1

    start = jnp.int32(0), jnp.int32(0), jnp.asarray(True)
    question, total, _ = jax.lax.while_loop(lambda carry: carry[2], body, start)
    return question, total


def as_ints(result):
    return tuple(map(int, result))


def test_every_answer_is_given_in_the_calling_thread_and_in_order():
    asked = []

    def answer(question):
        asked.append((question, threading.get_ident()))
        return bytes([question < 99, question])

    served = serve(sum_of_answers, answer, FAREWELL)
    assert as_ints(served.result) == (100, sum(range(100)))
    assert served.error is None
    assert asked == [(question, threading.get_ident()) for question in range(100)]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_an_answer_that_raises_ends_the_program_and_keeps_what_it_made(error):
    def answer(question):
        if question == 5:
            raise error
        return bytes([1, 10])

    served = serve(sum_of_answers, answer, FAREWELL)
    assert served.error is error
    assert as_ints(served.result) == (6, 50)


def test_an_interrupt_ends_the_program_too():
    def answer(question):
        if question == 5:
            signal.raise_signal(signal.SIGINT)
        return bytes([1, 10])

    served = serve(sum_of_answers, answer, FAREWELL)
    assert isinstance(served.error, KeyboardInterrupt)
    assert as_ints(served.result) == (6, 50)


def test_what_a_program_raises_is_raised_to_the_caller():
    def program(asker):
        raise MemoryError(f"asker {asker}")

    with pytest.raises(MemoryError, match="asker"):
        serve(program, lambda _: FAREWELL, FAREWELL)
    assert not host_call._askers


def test_an_answer_may_use_jax_while_the_program_waits():
    square = jax.jit(lambda x: x @ x)

    def answer(question):
        trace = jnp.trace(square(jnp.full((64, 64), 1 / 64)))
        return bytes([question < 20, round(float(trace))])

    assert as_ints(serve(sum_of_answers, answer, FAREWELL).result) == (21, 21)


def test_programs_that_run_at_once_get_their_own_answers():
    totals = {}

    def run(number):
        answered = serve(sum_of_answers, lambda question: bytes([question < 200, number]), FAREWELL)
        totals[number] = as_ints(answered.result)

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == {number: (201, 201 * number) for number in (1, 2, 3)}


def test_where_the_interface_of_xla_is_missing_jax_asks_in_its_own_way(monkeypatch):
    monkeypatch.setattr(host_call.jax, "default_backend", lambda: "another")
    program = jax.jit(lambda asker: sum_of_answers.__wrapped__(asker))
    served = serve(program, lambda question: bytes([question < 9, 2]), FAREWELL)
    assert as_ints(served.result) == (10, 20)
    assert isinstance(served.result[0], jax.Array)
    assert np.asarray(served.result[1]).dtype == np.int32
