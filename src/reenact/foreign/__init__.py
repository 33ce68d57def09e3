"""Recordings that other tools have made of HTTP, read and put onto tapes. All of it is data from strangers."""
