"""The programs that are measured: agents that know nothing of reenact, and what they are compared with."""
