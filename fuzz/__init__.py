"""Fuzzing: what reads bytes of strangers, given bytes that no friend would write. `./task fuzz` runs it."""
