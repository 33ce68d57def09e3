"""Where two texts, JSON values or sequences differ, and the values that say so. Knows nothing of runs and requests.

It is asked where something differs: a replay that meets nothing else than its tape loads the values (`change`) alone.
"""
