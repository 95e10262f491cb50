"""The machine that a program runs on: its cores, memory, signals, disk and locks."""
