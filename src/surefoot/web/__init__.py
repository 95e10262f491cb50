"""The page of `surefoot watch`: what an agent believes while it plays, beside what then really happened.

It reads the files of runs and writes none; a run that is being trained never waits for it.
"""
