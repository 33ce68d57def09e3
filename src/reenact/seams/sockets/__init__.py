"""Connections that no seam of a library saw: what goes over them is kept as it is sent and as it comes, above TLS."""
