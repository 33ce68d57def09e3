"""`python -m reenact`."""

from reenact.cli.main import main

main()
