"""Validates each trajectory in a directory with the models of the package harbor."""

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory

files = sorted(Path(sys.argv[1]).glob("*.json"))
for file in files:
    trajectory = Trajectory.model_validate(json.loads(file.read_bytes()))
    own = [step.metrics for step in trajectory.steps if step.metrics and not step.is_copied_context]
    for name in ["prompt_tokens", "completion_tokens", "cached_tokens"]:
        total = sum(getattr(metrics, name) for metrics in own)
        assert total == getattr(trajectory.final_metrics, f"total_{name}"), (file, name)
print(f"{len(files)} trajectories are valid")
