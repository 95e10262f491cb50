"""What the command's exit codes say."""

OK, CLAIM_NOT_MET, RUN_FAILED, MISUSE, INTERRUPTED = 0, 1, 1, 2, 130
