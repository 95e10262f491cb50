"""Data in, picture out: each module has one pure function `draw`."""
