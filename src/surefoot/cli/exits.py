"""What the command's exit codes say."""

OK, CLAIM_NOT_MET, MISUSE, INTERRUPTED = 0, 1, 2, 130
