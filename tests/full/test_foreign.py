#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that others wrote, from Debian: with loupe they compute the same, end the same way,
and their communication is there. hpcc (C, linear algebra and network), LAMMPS (C++, molecular
dynamics) and mpi4py on Open MPI; ScaLAPACK's tests (Fortran) on both."""
import glob
import os
import re
import shutil

import loupetest as lt

MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 20
run 200
"""
SCALAPACK = glob.glob(f"/usr/lib/*/scalapack/{lt.MPI}-tests")
DATA = "/usr/share/scalapack"


def folder(name, files=()):
    path = lt.scratch(name)
    os.mkdir(path)
    for file, text in files:
        with open(os.path.join(path, file), "w", encoding="utf-8") as out:
            out.write(text)
    return path


def compare(name, command, ranks, results, files=(), least=10):
    """Runs it twice; results(output, folder) is what must be equal."""
    command = lt.mpirun(ranks) + command
    first, second = folder(name + "-plain", files), folder(name + "-loupe", files)
    want = lt.execute(command, cwd=first)
    run = lt.monitor_command(command, cwd=second)
    if not lt.ok(want.code == 0, f"{name} runs without loupe", want):
        return
    lt.ok(run.code == 0, f"{name} runs under loupe", run.result)
    numbers = results(want.out, first)
    lt.ok(numbers, f"{name}: there are results to compare", want)
    lt.equal(results(run.result.out, second), numbers, f"{name}: the same results")
    lt.equal(run.states(), {r: "finished" for r in range(ranks)}, f"{name}: all ranks finished")
    events = sum(n["count"] for n in run.nodes())
    lt.ok(events >= least, f"{name}: its communication is there", events)
    lt.ok(all(r["events"] > 0 for r in run.report["ranks"]), f"{name}: of every rank",
          run.report["ranks"])
    lt.note(f"{name}: {events} calls of {len(run.nodes())} statements")
    lt.equal(lt.left_behind(), [], f"{name}: nothing is left behind")


def installed(name, path):
    if not path:
        lt.skip(name, "is not installed")
    return path


def melt():
    """Temperature, energies and pressure at every printed step, to the last digit."""
    program = installed("LAMMPS", shutil.which("lmp"))
    if program:
        compare("LAMMPS", [program, "-in", "in.melt", "-log", "none"], 2,
                lambda out, _: re.findall(r"^ *\d+ +[-\d.]+ +[-\d.]+ +[-\d.]+ .*$", out, re.M),
                [("in.melt", MELT)], 400)


def hpcc():
    program = installed("hpcc", shutil.which("hpcc"))
    example = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
    if not program or not installed("hpcc's example", os.path.exists(example)):
        return
    with open(example, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"^1000 ", "240 ", text, flags=re.M)
    text = re.sub(r"^2( +Ps)", r"1\1", text, flags=re.M)

    def results(_, where):
        with open(os.path.join(where, "hpccoutf.txt"), encoding="utf-8") as file:
            found = re.findall(r"^(?:Success=|PTRANS_residual=|HPL_[NP]|.*tests completed|"
                               r"\|\|Ax-b\|\|).*$", file.read(), re.M)
        return found if "Success=1" in found else []
    compare("hpcc", [program], 2, results, [("hpccinf.txt", text)], 1000)


def python():
    python3 = "/usr/bin/python3"  # Debian's, which finds Debian's packages
    if lt.execute([python3, "-c", "import mpi4py"]).code != 0:
        lt.skip("mpi4py", "is not installed")
        return
    compare("mpi4py", [python3, "-m", "mpi4py.bench", "ringtest", "-q", "-n", "4096"], 3,
            lambda out, _: ["ran"], (), 6)


def scalapack(name, data, results):
    program = os.path.join(SCALAPACK[0], name) if SCALAPACK else ""
    source = os.path.join(DATA, data)
    if not installed(f"ScaLAPACK's {name}", os.path.exists(program) and os.path.exists(source)):
        return
    with open(source, encoding="utf-8") as file:
        text = file.read()
    # Grids of 1 x 1, 2 x 1 and 1 x 2: more ranks than cores wait for ever with MPICH, which spins.
    text = re.sub(r"^1 2 4 1 .*(?=values of Q)", "1 1 2 1 1 1 1 ", text, flags=re.M)
    compare(os.path.basename(name), [program], 2, results, [(os.path.basename(data), text)], 100)


def factorization():
    """Per case the parameters and the verdict; between them stand times."""
    scalapack("xdlu", "LU.dat",
              lambda out, _: [line.split()[:8] + line.split()[-1:] if line.startswith("WALL")
                              else line for line in out.splitlines()])


def products():
    """Whole output: it has no times."""
    scalapack("PBLAS/dpb3tst", "PBLAS/PDBLAS3TST.dat", lambda out, _: out.splitlines())


def eigenvalues():
    scalapack("xdnep", "NEP.dat", lambda out, _: [line for line in out.splitlines()
                                                  if "tests" in line])


if lt.MPI == "openmpi":  # for which Debian builds these
    lt.main(melt, hpcc, python, factorization, products, eigenvalues)
lt.main(factorization, products, eigenvalues)
