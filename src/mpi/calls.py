# SPDX-License-Identifier: MIT
"""Reads the table of MPI functions, calls.txt."""

import os
import re
from dataclasses import dataclass

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls.txt")

# Open MPI exports the functions that MPI 3.0 removed, for old binaries, but
# declares them only on demand, and otherwise turns their names into macros
# that fail. Other MPIs ignore the macro.
REMOVED_DECLS = "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0"

# What to preprocess for available(). Open MPI's extensions have a header of
# their own, which may be missing.
HEADERS = """\
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
"""


class TableError(Exception):
    """All errors of a table, each with file and line."""


@dataclass(frozen=True)
class Meaning:
    name: str
    ctype: str
    large: str          # C type in the large-count variant
    text: str


@dataclass(frozen=True)
class Param:
    name: str
    meaning: str        # "" if the table gives only a type
    ctype: str

    @property
    def decl(self):
        """The parameter as C declares it: int a, int a[][3], int (*a)(int)."""
        if self.name == "...":
            return "..."
        pointer = re.match(r"(.*\(\*+)(\).*)$", self.ctype)
        if pointer:
            return pointer[1] + self.name + pointer[2]
        base, dims = re.match(r"(.*?)\s*((?:\[\w*\])*)$", self.ctype).groups()
        return base + ("" if base.endswith("*") else " ") + self.name + dims


@dataclass(frozen=True)
class Call:
    name: str           # without MPI_, but with MPIX_
    ret: str
    cls: str
    params: tuple
    large: bool         # takes large counts: the _c variant of another call
    line: int

    @property
    def symbol(self):
        return c_name(self.name)

    @property
    def psymbol(self):
        return "P" + self.symbol

    @property
    def variadic(self):
        return bool(self.params) and self.params[-1].name == "..."

    @property
    def decls(self):
        """The parameter list of a prototype or definition."""
        return ", ".join(p.decl for p in self.params) or "void"

    @property
    def args(self):
        """The arguments that pass the parameters on; none for "..."."""
        return ", ".join(p.name for p in self.params if p.name != "...")

    @property
    def prototype(self):
        gap = "" if self.ret.endswith("*") else " "
        return f"{self.ret}{gap}{self.symbol}({self.decls})"

    def having(self, *meanings):
        """The parameters with one of these meanings, in order."""
        return [p for p in self.params if p.meaning in meanings]

    def param(self, name):
        """The parameter of this name, or None."""
        return next((p for p in self.params if p.name == name), None)


def c_name(name):
    return name if name.startswith("MPIX_") else "MPI_" + name


_CALL = re.compile(r"(\w+)(?:\s+->\s+([\w ]+?\s*\**))?(\s+\+c)?\s+(\w+)((?:\s.*)?)$")
_PARAM = re.compile(r"\s+(?:(\.\.\.)(?=\s|$)|(\w+)(?::(?:(\w+)|\{([^{}]+)\}))?(?=\s|$))")


class _Reader:
    def __init__(self, path):
        self.path, self.line = path, 0
        self.errors, self.meanings, self.classes, self.calls = [], {}, set(), {}

    def error(self, text):
        self.errors.append(f"{self.path}:{self.line}: {text}")

    def read(self, text):
        readers = {"[meanings]": self.meaning, "[classes]": self.class_line, "[calls]": self.call}
        reader = None
        for self.line, line in enumerate(text.splitlines(), 1):
            line = line.rstrip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                reader = readers.get(line)
                if not reader:
                    self.error(f"unknown section {line}")
            elif reader:
                reader(line)
            else:
                self.error("line outside any known section")

    def meaning(self, line):
        fields = [f.strip() for f in line.split("|")]
        if len(fields) != 4 or not all(fields):
            self.error("expected: meaning | C type | large-count C type | text")
        elif fields[0] in self.meanings:
            self.error(f"meaning {fields[0]} again")
        else:
            name, ctype, large, text = fields
            self.meanings[name] = Meaning(name, ctype, ctype if large == "=" else large, text)

    def class_line(self, line):
        self.classes.update(line.split())

    def call(self, line):
        match = _CALL.match(line)
        if not match:
            return self.error("expected: NAME [-> TYPE] [+c] CLASS PARAM...")
        name, ret, plus_c, cls, rest = match.groups()
        if cls not in self.classes:
            self.error(f"unknown class {cls}")
        params, large, at = [], [], 0
        while at < len(rest):
            match = _PARAM.match(rest, at)
            if not match:
                return self.error(f"not a parameter: {rest[at:].strip()}")
            at = match.end()
            dots, pname, word, ctype = match.groups()
            word = "" if dots or ctype else word or pname
            if word and word not in self.meanings:
                return self.error(f"unknown meaning {word}")
            known = self.meanings.get(word)
            params.append(Param(dots or pname, word, known.ctype if known else ctype or ""))
            large.append(Param(dots or pname, word, known.large if known else ctype or ""))
        names = [p.name for p in params]
        if len(set(names)) != len(names):
            self.error("two parameters of the same name")
        if "..." in names[:-1]:
            self.error("... is not the last parameter")
        own_large = name.endswith("_c") and name[:-2] in self.calls
        self.add(Call(name, ret or "int", cls, tuple(params), own_large, self.line))
        if plus_c:
            if large == params:
                self.error("+c, but no parameter has a large-count type")
            self.add(Call(name + "_c", ret or "int", cls, tuple(large), True, self.line))

    def add(self, call):
        if call.name in self.calls:
            self.error(f"{call.name} is already in line {self.calls[call.name].line}")
        else:
            self.calls[call.name] = call


def load(path=TABLE):
    """All calls by name, in the order of the table, each followed by its _c."""
    with open(path, encoding="utf-8") as file:
        reader = _Reader(os.path.basename(path))
        reader.read(file.read())
    if reader.errors:
        raise TableError("\n".join(reader.errors))
    return reader.calls


def available(header_text):
    """Names of the calls for which preprocessed headers declare a PMPI_ twin."""
    code = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', header_text)
    found = re.findall(r"\bP(MPIX?_\w+)\s*\(", code)
    return {name[4:] if name.startswith("MPI_") else name for name in found}
