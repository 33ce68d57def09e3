"""Other histories of a recorded run. So far: what a fork serves and sends instead of what is on tape."""
