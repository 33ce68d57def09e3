"""What would not replay, and why: of this installation, of a recorded run, of a command."""
