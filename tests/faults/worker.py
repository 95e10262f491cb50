"""The command `surefoot`, in a process that kills itself where it is told to.

FAULT=kill-at-fsync:N is a `kill -9` at the N-th wait for the disk, in the middle of a save.
"""

import os
import signal
import sys


def main():
    fault, _, number = os.environ.get("FAULT", "").partition(":")
    if fault == "kill-at-fsync":
        left, fsync = int(number), os.fsync

        def deadly(handle):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            fsync(handle)

        os.fsync = deadly
    from surefoot import cli

    sys.argv[0] = "surefoot"
    cli.main()


if __name__ == "__main__":
    main()
