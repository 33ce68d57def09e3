"""The benchmark: what recording, replay and tapes cost, each as a ratio to something measured in the same run."""
