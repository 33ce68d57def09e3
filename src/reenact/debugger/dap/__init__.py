"""A server of the Debug Adapter Protocol: editors move about in a run by it."""
