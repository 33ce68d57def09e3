"""What `reenact demo` plays: a real agent, the model that it asks, and the commands that are tried on it."""
