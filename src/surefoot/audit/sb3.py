"""QR-DQN of Stable-Baselines3-contrib as the subject of an audit; several of different seeds as an ensemble.

One model has the (biased) aleatoric variance of its quantiles. An ensemble has both uncertainties by the
paper's estimators for independent draws. Each member learned from targets of its own, so that its epistemic
uncertainty is total, and its covariance counts as chance what all have not learned (docs/paper_map.md).
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from surefoot.audit.caveats import EpistemicKind
from surefoot.audit.subject import Subject
from surefoot.envs.resolve import EnvHandle
from surefoot.errors import UserError
from surefoot.estimators import decompose, quantile_variance
from surefoot.text import error_line, single_line
from surefoot.types import Beliefs

ALONE = (
    "Stable-Baselines3 QR-DQN: its aleatoric variance is that of one network's quantiles, which contains "
    "what the network has not learned (Proposition 2.1); it has no epistemic uncertainty. Several files "
    "(--sb3 FILE --sb3 FILE) are an ensemble, which has one."
)
TOGETHER = (
    "an ensemble with targets of its own: sorting turns what is not known of later states into the shape of "
    "distributions, so that the covariance of its members overestimates chance where little is learned."
)
HUBER = (
    "kappa 1: Stable-Baselines3 minimises the quantile Huber loss, whose minima lie between quantiles and "
    "expectiles. Where returns differ by about 1 or less, intervals are too narrow."
)


def require_trust(files: Sequence[Path], *, trust_pickle: bool) -> None:
    """Refuse to load unless the user trusts the files, which may hold any code."""
    if not trust_pickle:
        raise UserError(
            f"trust_pickle: got False for {files[0]}, accepted: True (--trust-pickle), only for files that "
            "you trust: loading a Stable-Baselines3 model unpickles it, which can run any code in the file"
        )
    if find_spec("sb3_contrib") is None:
        raise UserError("sb3: sb3-contrib is not installed, accepted: pip install sb3-contrib")
    for path in files:
        if not path.is_file():
            raise UserError(f"sb3: {path} does not exist, accepted: a file that QRDQN.save wrote")


def load_ensemble(files: Sequence[Path], env: EnvHandle) -> Subject:
    """The models as one subject; what they load is code, so ask `require_trust` first."""
    import sb3_contrib  # pyright: ignore[reportMissingImports]

    models: list[Any] = []
    for path in files:
        try:
            models.append(sb3_contrib.QRDQN.load(path, device="cpu"))
        except Exception as error:
            # Whatever a file makes Stable-Baselines3 raise is the user's to read.
            raise UserError(f"sb3: {path} is no QR-DQN ({error_line(error)})") from error
    spaces = env.gym.observation_space, env.gym.action_space
    for path, model in zip(files, models, strict=True):
        theirs = model.observation_space, model.action_space
        if theirs != spaces:
            raise UserError(
                f"env: {env.name} has {single_line(spaces)}, accepted: the spaces of {path}, "
                f"{single_line(theirs)}"
            )
    counts, discounts = {int(each.policy.n_quantiles) for each in models}, {each.gamma for each in models}
    if len(counts) > 1 or len(discounts) > 1:
        raise UserError(
            f"sb3: got quantiles {sorted(counts)} and gamma {sorted(discounts)}, accepted: the same in all"
        )
    count = counts.pop()
    steps = " and ".join(f"{each.num_timesteps:,}" for each in models)

    def beliefs(obs: NDArray[Any]) -> Beliefs:
        return beliefs_of(np.stack([_quantiles(model, obs) for model in models]))

    def best(obs: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray(beliefs(obs).mean).argmax(axis=-1)

    return Subject(
        name=f"Stable-Baselines3 QR-DQN in {env.name}, {steps} steps",
        env=env,
        beliefs=beliefs,
        best=best,
        act=lambda obs: int(best(obs[None])[0]),
        discount=float(discounts.pop()),
        quantiles=count,
        levels=(np.arange(count) + 0.5) / count,
        epistemic_kind=EpistemicKind.NONE if len(models) == 1 else EpistemicKind.TOTAL,
        caveats=(HUBER, ALONE if len(models) == 1 else TOGETHER),
    )


def beliefs_of(draws: NDArray[Any]) -> Beliefs:
    """Beliefs from the quantiles of each model, `[K, B, A, N]`.

    An ensemble's quantiles are the means of its members' (as in eq. 5).
    """
    ordered: Any = jnp.sort(jnp.asarray(draws, float), axis=-1)
    quantiles = ordered.mean(axis=0)
    mean = quantiles.mean(axis=-1)
    if len(ordered) == 1:
        return Beliefs(mean, None, quantile_variance(quantiles), quantiles)
    found = decompose(ordered)
    return Beliefs(
        mean, found.epistemic, found.aleatoric, quantiles, jnp.moveaxis(ordered.mean(axis=-1), 0, 1)
    )


def _quantiles(model: Any, obs: NDArray[Any]) -> NDArray[Any]:
    """The quantiles of each action, `[B, A, N]`."""
    import torch  # pyright: ignore[reportMissingImports]

    with torch.no_grad():
        tensor, _ = model.policy.obs_to_tensor(obs)
        return np.moveaxis(model.policy.quantile_net(tensor).cpu().numpy(), 1, 2)
