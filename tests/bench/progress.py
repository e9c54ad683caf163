# SPDX-License-Identifier: MIT
"""How far a long measurement is, for who looks at it."""

import sys


def show(text=""):
    """Instead of what was shown before; nothing: clears it. Where nobody looks it would fill a log."""
    if sys.stderr.isatty():
        print(f"\r{text:<70}\r", end="", file=sys.stderr, flush=True)
