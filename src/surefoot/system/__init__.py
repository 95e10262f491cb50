"""The machine: cores, memory, signals, disk, locks."""
