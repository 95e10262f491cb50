"""Many independent tasks on one machine: a process per core, each pinned to its own before JAX starts."""

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import Any, TypeVar

from surefoot.runs.cores import available_cores, pin_to
from surefoot.types import UserError, whole_number

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_all(
    function: Callable[[Task], Result], tasks: Sequence[Task], jobs: int | None
) -> Iterator[tuple[Task, Result]]:
    """Each task with its result, as they finish; `jobs` processes at once, by default one per core.

    The function must be importable by name, and tasks and results plain data.
    """
    cores = available_cores()
    if jobs is not None:
        whole_number("--jobs", jobs, 1)
    # Fresh interpreters: a fork would inherit threads that JAX may have started here.
    context = get_context("spawn")
    free: Any = context.Queue()
    count = min(jobs or len(cores), len(tasks))
    for worker in range(count):
        free.put(cores[worker % len(cores)])
    with ProcessPoolExecutor(count, context, initializer=_prepare, initargs=(free,)) as pool:
        futures = {pool.submit(function, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            raise UserError("a process was ended from outside, or ran out of memory") from error
        except BaseException:
            # Whoever stops early does not wait for the tasks under way.
            for child in active_children():
                child.terminate()
            raise


def _prepare(free: Any) -> None:
    """Keep this process, and the threads that JAX will start in it, on one core."""
    # An interruption is for the parent to handle; it ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pin_to(free.get())
