"""Secrets planted wherever a run may meet one, and a look at every byte of the store for them."""
