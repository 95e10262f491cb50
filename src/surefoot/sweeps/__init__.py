"""Many runs: which there are, which are done, and who carries them out."""
