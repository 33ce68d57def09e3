"""Side traffic: which requests are no part of a run."""
