"""Files by redirection in Python, for replays where the kernel gives no namespaces."""
