"""`surefoot audit`: whether a trained agent's uncertainty is right."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from numpy.typing import NDArray

from surefoot.audit import Audit, Config, report, sb3
from surefoot.audit import audit as run_audit
from surefoot.cli.chosen_checkpoint import chosen_checkpoint
from surefoot.cli.claims import exit_code, print_claims
from surefoot.cli.console import progress_bar, table_console
from surefoot.cli.messages import warnings_as_lines
from surefoot.cli.train import import_from_working_directory, parse_env_kwargs
from surefoot.envs.resolve import resolve_env
from surefoot.errors import UserError
from surefoot.model import RECALIBRATION, load
from surefoot.runs import checkpoint
from surefoot.runs.directory import CONFIG
from surefoot.runs.log_files import read_metrics

Files = Annotated[tuple[Path, ...], tyro.conf.arg(name="sb3", metavar="FILE"), tyro.conf.UseAppendAction]


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    settings: Annotated[Config, tyro.conf.arg(name="")],
    run: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = None,
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
    which: Literal["best", "last"] = "best",
    env_other: Annotated[str | None, tyro.conf.arg(metavar="ID")] = None,
    sb3_files: Files = (),
    env: Annotated[str | None, tyro.conf.arg(metavar="ID")] = None,
    env_kwargs: Annotated[str, tyro.conf.arg(metavar="JSON")] = "{}",
    trust_pickle: bool = False,
    strict: bool = False,
    overwrite: bool = False,
) -> Callable[[], int]:
    """Compare what an agent believes with what happens, and judge whether its uncertainty is right.

    Args:
        settings: How much is played.
        run: A run's directory, one of its checkpoints, or a saved model.
        out: Directory for audit.html, pictures and audit.json; by default a new one in audits/.
        which: Of a run, the model that did best in evaluation, or the last, whose replay tells visits.
        env_other: Another environment of the same shape, whose observations the agent should not know.
        sb3_files: Instead of a run, QR-DQN of Stable-Baselines3-contrib; several seeds are an ensemble.
        env: The environment of --sb3.
        env_kwargs: Its keyword arguments.
        trust_pickle: Load --sb3 files although that unpickles, which can run any code that is in them.
        strict: Exit with code 1 unless every claim holds.
        overwrite: Replace the report that the directory holds.
    """

    def work() -> int:
        import_from_working_directory()
        if (run is None) == (not sb3_files):
            raise UserError(f"RUN: got {run or 'nothing'}, accepted: a run, or --sb3 FILE (not both)")
        if run is not None:
            return _report(partial(_audit_run, run, which, settings, env_other), run.name, run)
        make = partial(_audit_sb3, sb3_files, env, env_kwargs, settings, env_other, trust_pickle)
        return _report(make, sb3_files[0].stem, None)

    def _report(make: Callable[[], Audit], name: str, of_run: Path | None) -> int:
        directory = report.target_directory(out, name, overwrite=overwrite)
        found = make()
        console = table_console(highlight=False)
        console.print(found.name, markup=False)
        for caveat in found.caveats:
            console.print(f"- {caveat}", markup=False)
        print_claims(console, found.claims, without_interval="none")
        for section in found.sections:
            for missing in section.not_applicable:
                console.print(f"not applicable: {section.title} {missing}", markup=False)
        for path in report.write(found, directory):
            console.print(str(path), soft_wrap=True, markup=False)
        if found.recalibration is not None and of_run is not None:
            with warnings_as_lines():
                saved = chosen_checkpoint(of_run, which)
            checkpoint.annotate(saved, RECALIBRATION, found.recalibration.as_json())
            console.print(f"recalibration saved with {saved}", soft_wrap=True, markup=False)
        return exit_code(found.claims, strict=strict)

    return work


def _audit_run(run: Path, which: str, settings: Config, env_other: str | None) -> Audit:
    with warnings_as_lines():
        path = chosen_checkpoint(run, which)
    model = load(path)
    given = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    with progress_bar("audit") as advance:
        return model.audit(env_other=env_other, history=_history(run), advance=advance, **given)


def _history(run: Path) -> Mapping[str, NDArray[Any]]:
    """The columns of a run's log that the probe of the audit's exact part wrote; empty without them."""
    lines = read_metrics(run) if (run / CONFIG).is_file() else []
    looks = [line for line in lines if any(name.startswith("audit/") for name in line)]
    if not looks:
        return {}
    names = [name for name in looks[0] if name.startswith("audit/") or name == "step"]
    return {name: np.array([line[name] for line in looks if name in line]) for name in names}


def _audit_sb3(
    files: Sequence[Path],
    env: str | None,
    env_kwargs: str,
    settings: Config,
    env_other: str | None,
    trust_pickle: bool,
) -> Audit:
    sb3.require_trust(files, trust_pickle=trust_pickle)
    if env is None:
        raise UserError("env: not given, accepted: the Gymnasium id that the model of --sb3 was trained in")
    if settings.recalibrate:
        raise UserError("recalibrate: got True with --sb3, accepted: only with a run, which it is saved with")
    with ExitStack() as stack:
        handle = resolve_env(env, parse_env_kwargs(env_kwargs), driver="hosted")
        stack.callback(handle.gym.close)
        other = None if env_other is None else resolve_env(env_other, driver="hosted")
        if other is not None:
            stack.callback(other.gym.close)
        subject = sb3.load_ensemble(files, handle)
        advance = stack.enter_context(progress_bar("audit"))
        return run_audit(subject, settings, other=other, advance=advance)
