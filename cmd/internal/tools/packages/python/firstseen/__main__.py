"""python -m firstseen is the program."""

import os
import sys

from ._daemon import binary

if __name__ == "__main__":
    program = binary()
    os.execv(program, [program, *sys.argv[1:]])
