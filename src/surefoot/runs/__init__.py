"""A run on disk: its configuration, its log, its checkpoints; writing them and reading them back."""
