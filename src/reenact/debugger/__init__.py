"""A replay that is held still: it goes to any moment of a run, forward and back. `probe` is its part in the process."""
