"""What is tried to shake a tape, and what came of it: all of it by `./task trust`, and each by a command of its own."""
