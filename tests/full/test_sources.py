#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code bases that others wrote, built with `loupe cc`: the same warnings as plain, their own tests
pass without loupe and under it, and their procedures are in the report. LZ4 (C, make), Expat
(C, autoconf's configure and make) and LevelDB (C++, make), from npm packages that carry them;
GoogleTest (C++, CMake and Ninja with response files) from Debian's package of its source."""
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

LOUPE = os.environ["LOUPE_TEST_LOUPE"]
GOOGLETEST = "/usr/src/googletest"
GOOGLETESTS = ["sample6_unittest", "sample10_unittest", "googletest-port-test",
               "googletest-filepath-test", "gtest-typed-test_test"]
cases = failed = 0


def ok(condition, what, detail=""):
    global cases, failed
    cases += 1
    failed += not condition
    print(f"{'' if condition else 'not '}ok {cases} - {what}", flush=True)
    if not condition:
        for line in str(detail).splitlines()[-25:]:
            print(f"# {line}")
    return condition


def run(command, folder, limit=900, **environment):
    env = dict(os.environ, LANG="C", **environment)
    try:
        done = subprocess.run(command, cwd=folder, env=env, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=limit, check=False)
    except subprocess.TimeoutExpired as late:
        return 124, (late.stdout or b"").decode(errors="replace")
    return done.returncode, done.stdout


def copy(source, work):
    """The same of sources that are installed."""
    folders = [os.path.join(work, kind) for kind in ("plain", "loupe")]
    for folder in folders:
        shutil.copytree(source, folder)
    return folders


def unpack(package, work):
    """The package's folder, once for the plain and once for the instrumented build."""
    if os.path.isabs(package):
        return copy(package, work)
    code, out = run(["npm", "pack", package, "--silent"], work)
    if code:
        ok(False, f"{package} can be had", out)
        return None
    archive = os.path.join(work, out.split()[-1])
    folders = []
    for kind in ("plain", "loupe"):
        folder = os.path.join(work, package.split("@")[0] + "-" + kind)
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        folders.append(os.path.join(folder, "package"))
    return folders


def warnings(output, folder):
    """Warnings with their place in the folder; their number and wording may not change."""
    output = re.sub(r":(\d+):\d+:", r":\1:", output.replace(folder + "/", ""))
    return sorted(set(re.findall(r"^\S+?:\d+:.*warning: .*$", output, re.M)))


def compare(name, package, inside, build, tests, compilers, least):
    """Builds both ways, compares, runs the tests; `build(cc, cxx)` is a list of commands."""
    work = tempfile.mkdtemp(prefix="loupe-sources-")
    try:
        folders = unpack(package, work)
        if not folders:
            return
        output = []
        for kind, folder in zip(("plain", "loupe"), folders):
            cc, cxx = (compilers if kind == "plain" else
                       [f"{LOUPE} {tool} {compiler}" for tool, compiler in zip(("cc", "c++"), compilers)])
            text = ""
            for command in build(cc, cxx):
                code, out = run(command, os.path.join(folder, inside), CC=cc, CXX=cxx)
                text += out
                if not ok(code == 0, f"{name} builds: {kind}, {command[0]}", out):
                    return
            output.append(text)
        plain, loupe = (warnings(text, folder) for text, folder in zip(output, folders))
        ok(plain == loupe, f"{name}: the same warnings", "\n".join(set(plain) ^ set(loupe)))
        place = os.path.join(folders[1], inside)
        for i, test in enumerate(tests):
            code, out = run(test, place)
            ok(code == 0, f"{name}: {' '.join(test)}", out)
            file = os.path.join(work, f"{i}.loupe")
            code, out = run([LOUPE, "run", "-q", "-o", file, "--", *test], place)
            ok(code == 0, f"{name}: {' '.join(test)}, under loupe", out)
            code, out = run([LOUPE, "report", "--by", "procedure", "--top", "1000", file], place)
            rows = len(out.splitlines())
            ok(code == 0 and rows >= least, f"{name}: its procedures are in the report ({rows} lines)",
               out)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    compilers = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}[sys.argv[1]]
    compare("LZ4", "lz4@0.6.5", "deps/lz4/tests",
            lambda cc, cxx: [["make", "fuzzer", "frametest", "roundTripTest", f"CC={cc}"]],
            [["./fuzzer", "-i300", "-s1"], ["./frametest", "-i100", "-s1"],
             ["./roundTripTest", "Makefile"]], compilers, 5)
    compare("Expat", "node-expat@2.4.1", "deps/libexpat",
            lambda cc, cxx: [["sh", "./configure", "--disable-shared", f"CC={cc}", f"CXX={cxx}"],
                             ["make", "buildlib", "tests/runtests"]],
            [["./tests/runtests"]], compilers, 20)
    compare("LevelDB", "leveldown@6.1.1", "deps/leveldb/leveldb-1.20",
            lambda cc, cxx: [["chmod", "+x", "build_detect_platform"],  # npm's archive forgets it
                             ["make", "-j2", f"CC={cc}", f"CXX={cxx}", "OPT=-O2",
                              "out-static/log_test", "out-static/skiplist_test",
                              "out-static/table_test"]],
            [["out-static/log_test"], ["out-static/skiplist_test"], ["out-static/table_test"]],
            compilers, 10)
    if os.path.isdir(GOOGLETEST):
        compare("GoogleTest", GOOGLETEST, "googletest",
                lambda cc, cxx: [["cmake", "-S", ".", "-B", ".", "-G", "Ninja",
                                  "-DCMAKE_BUILD_TYPE=Release", "-Dgtest_build_tests=ON",
                                  "-Dgtest_build_samples=ON", "-DCMAKE_NINJA_FORCE_RESPONSE_FILE=ON"],
                                 ["ninja", "-j2", *GOOGLETESTS]],
                [["./" + test] for test in GOOGLETESTS], compilers, 10)
    else:
        ok(True, "GoogleTest # SKIP is not installed")
    print(f"1..{cases}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
