"""Metrics of a run: what a checkpoint stores of them comes back."""

import json

from surefoot.runs.metrics import RunMetrics


def test_metrics_come_back_from_a_checkpoint():
    metrics = RunMetrics()
    metrics.episodes, metrics.events = 4, {"fell": 2}
    metrics.recent.extend([(1.5, 3), (2.0, 4)])
    metrics.choices["nongreedy"] += [0.0, 1.0]
    metrics.choices["epistemic"] += [float("nan"), float("nan")]
    again = RunMetrics.restored(json.loads(json.dumps(metrics.as_json())), metrics.as_tensors())
    assert again.as_json() == metrics.as_json()
    assert again.scalars() == metrics.scalars()
    assert again.mean_episode_length == 3.5
    assert "uncertainty/epistemic_mean" not in metrics.scalars()
