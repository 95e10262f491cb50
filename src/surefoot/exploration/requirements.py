"""What explorers require of an agent's beliefs."""

from jaxtyping import Array, Float

from surefoot.errors import UserError
from surefoot.types import Beliefs


def require_epistemic(explorer: str, beliefs: Beliefs) -> Float[Array, "*batch A"]:
    """The epistemic standard deviations, of an agent that has them."""
    if beliefs.epistemic is None:
        raise UserError(
            f"explorer: got {explorer} for an agent without epistemic uncertainty, accepted: epsilon-greedy"
        )
    return beliefs.epistemic
