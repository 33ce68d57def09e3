"""The wire formats of the providers: requests to turns, and answers to bytes."""
