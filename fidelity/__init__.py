"""Whether real programs on today's frameworks can be recorded as they are, and verified with the model gone."""
