# SPDX-License-Identifier: MIT
"""What the tests of `loupe probe` share."""

import os


def changed(pid):
    """Mappings of code that are not as their files have them."""
    wrong = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) < 6 or "x" not in fields[1] or not fields[5].startswith("/"):
                continue
            path, (start, end) = fields[5].strip(), (int(x, 16) for x in fields[0].split("-"))
            if not os.path.exists(path):
                continue
            mem.seek(start)
            with open(path, "rb") as file:
                file.seek(int(fields[2], 16))
                want = file.read(end - start)
            if mem.read(end - start)[:len(want)] != want:
                wrong.append(path)
    return wrong
