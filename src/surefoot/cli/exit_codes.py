"""The exit codes of the command `surefoot`."""

OK, INTERRUPTED = 0, 130
CLAIM_NOT_MET = 1
"""At least one claim of an experiment does not hold, and `--strict` was given."""
RUN_FAILED = 1
"""At least one run of a sweep failed."""
MISUSE = 2
"""The arguments, the environment or the files are not what the command accepts."""
