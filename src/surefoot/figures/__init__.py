"""Figures, one a file: each module has one pure function `draw` from data to a Matplotlib figure."""
