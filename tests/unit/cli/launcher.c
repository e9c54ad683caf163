/* SPDX-License-Identifier: MIT */
/* Command lines of launchers, and where `loupe exec` is put into them. */
#include "cli/launcher.h"

#include "lib/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 64 };

/* Cuts a line at its spaces; "" ends it. */
static char *split(const char *line, char *words[WORDS])
{
    char *copy = strdup(line), *rest = copy;
    int count = 0;
    for (char *word; count < WORDS - 1 && (word = strsep(&rest, " "));)
        words[count++] = word;
    words[count] = NULL;
    return copy;
}

static char *prefix[] = {"loupe", "exec", "--", NULL};

/* `out` NULL: refused, and the error contains `error`; both NULL: starts no program. */
static const struct row {
    enum launcher_kind kind;
    const char *in, *out, *error;
} rows[] = {
    {LAUNCHER_OPENMPI, "mpirun ./app", "mpirun loupe exec -- ./app", NULL},
    {LAUNCHER_OPENMPI, "mpirun -n 4 ./app -n 5 x", "mpirun -n 4 loupe exec -- ./app -n 5 x", NULL},
    {LAUNCHER_OPENMPI, "mpirun -np 4 --mca btl self,vader -x A=b --oversubscribe app",
     "mpirun -np 4 --mca btl self,vader -x A=b --oversubscribe loupe exec -- app", NULL},
    {LAUNCHER_OPENMPI, "mpirun --np 4 -mca a b app", "mpirun --np 4 -mca a b loupe exec -- app",
     NULL},
    {LAUNCHER_OPENMPI, "mpirun -n 1 ./a x : -n 2 ./b y",
     "mpirun -n 1 loupe exec -- ./a x : -n 2 loupe exec -- ./b y", NULL},
    {LAUNCHER_OPENMPI, "mpirun --map-by ppr:2:node -- ./app",
     "mpirun --map-by ppr:2:node -- loupe exec -- ./app", NULL},
    {LAUNCHER_OPENMPI, "mpirun --map-by=node ./app", "mpirun --map-by=node loupe exec -- ./app",
     NULL},
    {LAUNCHER_OPENMPI, "mpirun -n 4 --app file", NULL, "in a file"},
    {LAUNCHER_OPENMPI, "mpirun --frobnicate 4 ./app", NULL, "--frobnicate"},
    {LAUNCHER_OPENMPI, "mpirun -n 1 ./a : --frob ./b", NULL, "--frob"},
    {LAUNCHER_OPENMPI, "mpirun --mca btl", NULL, "needs 2 arguments"},
    {LAUNCHER_OPENMPI, "mpirun -n", NULL, "needs 1 argument"},
    {LAUNCHER_OPENMPI, "mpirun --preload-binary ./app", NULL, "loupe exec"},
    {LAUNCHER_OPENMPI, "mpirun --version", NULL, NULL},
    {LAUNCHER_OPENMPI, "mpirun -n 4", NULL, NULL},
    {LAUNCHER_OPENMPI, "mpirun", NULL, NULL},
    {LAUNCHER_HYDRA, "mpiexec -n 4 -genv A b -hosts x,y ./app",
     "mpiexec -n 4 -genv A b -hosts x,y loupe exec -- ./app", NULL},
    {LAUNCHER_HYDRA, "mpiexec -n=4 ./app", "mpiexec -n=4 loupe exec -- ./app", NULL},
    {LAUNCHER_HYDRA, "mpiexec -l -ppn 2 -n 1 ./a : -env A b -n 1 ./b",
     "mpiexec -l -ppn 2 -n 1 loupe exec -- ./a : -env A b -n 1 loupe exec -- ./b", NULL},
    {LAUNCHER_HYDRA, "mpiexec -configfile f", NULL, "in a file"},
    {LAUNCHER_HYDRA, "mpiexec -what 3 ./app", NULL, "-what"},
    {LAUNCHER_HYDRA, "mpiexec -info", NULL, NULL},
    {LAUNCHER_SLURM, "srun -n4 ./app", "srun -n4 loupe exec -- ./app", NULL},
    {LAUNCHER_SLURM, "srun -lun 4 ./app", "srun -lun 4 loupe exec -- ./app", NULL},
    {LAUNCHER_SLURM, "srun -K ./app", "srun -K loupe exec -- ./app", NULL},
    {LAUNCHER_SLURM, "srun --ntasks=4 --exclusive ./app",
     "srun --ntasks=4 --exclusive loupe exec -- ./app", NULL},
    {LAUNCHER_SLURM, "srun --ntasks 4 --mpi pmix ./app",
     "srun --ntasks 4 --mpi pmix loupe exec -- ./app", NULL},
    {LAUNCHER_SLURM, "srun --partit x ./app", "srun --partit x loupe exec -- ./app", NULL},
    {LAUNCHER_SLURM, "srun --multi-prog file", NULL, "in a file"},
    {LAUNCHER_SLURM, "srun --unheard ./app", NULL, "--unheard"},
    {LAUNCHER_UNKNOWN, "mpirun ./app", NULL, "loupe exec"},
};

static void check(const struct row *row)
{
    char *words[WORDS], *copy = split(row->in, words), **result = NULL;
    struct strbuf error = {0}, line = {0};
    int err = launcher_rewrite(row->kind, words, prefix, &result, &error);
    for (char **w = result; w && *w; w++)
        strbuf_printf(&line, "%s%s", w == result ? "" : " ", *w);
    if (row->out)
        ok(err == 0 && line.text && strcmp(line.text, row->out) == 0, "%s -> %s", row->in,
           line.text ? line.text : error.text);
    else if (row->error)
        ok(err == -EINVAL && error.text && strstr(error.text, row->error), "%s refused: %s",
           row->in, error.text ? error.text : "no error");
    else
        ok(err == -ENOENT, "%s starts no program", row->in);
    strbuf_free(&line);
    strbuf_free(&error);
    free(result);
    free(copy);
}

static void check_names(void)
{
    ok(launcher_by_name("/opt/x/bin/mpiexec.hydra") == LAUNCHER_HYDRA, "by name, with a path");
    ok(launcher_by_name("orterun") == LAUNCHER_OPENMPI, "orterun is Open MPI's");
    ok(launcher_by_name("srun") == LAUNCHER_SLURM, "srun is Slurm's");
    ok(launcher_by_name("mpirun") == LAUNCHER_UNKNOWN, "mpirun has to be asked");
    ok(launcher_by_name("./mpirun_test") == LAUNCHER_NONE, "a program with a similar name");
    ok(launcher_by_version("mpirun (Open MPI) 4.1.4\n") == LAUNCHER_OPENMPI, "Open MPI's version");
    ok(launcher_by_version("mpirun.openmpi (OpenRTE) 4.1.4\n") == LAUNCHER_OPENMPI, "OpenRTE");
    ok(launcher_by_version("HYDRA build details:\n") == LAUNCHER_HYDRA, "Hydra's version");
    ok(launcher_by_version("Intel(R) MPI Library for Linux* OS") == LAUNCHER_HYDRA, "Intel's");
    ok(launcher_by_version("slurm 22.05.8\n") == LAUNCHER_SLURM, "Slurm's version");
    ok(launcher_by_version("something else") == LAUNCHER_UNKNOWN, "another one is unknown");
    ok(launcher_daemon("orted") && launcher_daemon("mpirun") && launcher_daemon("slurmstepd"),
       "daemons that start ranks");
    ok(!launcher_daemon("bash") && !launcher_daemon("app"), "others are no daemons");
}

int main(void)
{
    char *words[WORDS], *copy = split("mpirun -n 4 --mca a b ./app x", words);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i]);
    check_names();
    const char *program = launcher_program(LAUNCHER_OPENMPI, words);
    ok(program && strcmp(program, "./app") == 0, "the program in a command line");
    free(copy);
    return tap_done();
}
