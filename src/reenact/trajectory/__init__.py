"""From a tape to what a person reads: steps, each one model decision and the tool calls that it caused."""

from reenact.trajectory.decision import Step
from reenact.trajectory.entry import Entry, Place, Trouble
from reenact.trajectory.mark import Mark, way
from reenact.trajectory.walk import Trajectory, step_of_event, steps, trajectory

__all__ = ["Entry", "Mark", "Place", "Step", "Trajectory", "Trouble", "step_of_event", "steps", "trajectory", "way"]
