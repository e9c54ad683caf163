/* SPDX-License-Identifier: MIT */
/* Whether `loupe cc` has what it needs: loupe-instrument is tried on a program of two lines. */
#include "base/alloc.h"
#include "cli/capture.h"
#include "cli/doctor.h"
#include "cli/install.h"

#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char advice[] = "build loupe where libclang is installed, or do without loupe cc";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static bool write_program(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    fputs("int called(int n) { for (int i = 0; i < n; i++) n += called(i); return n; }\n"
          "int main(void) { return called(3); }\n",
          file);
    return fclose(file) == 0;
}

/* NULL: it works; else what is wrong, owned by the caller. */
static char *try_instrument(char *program, char *header, char *directory)
{
    char *source = xasprintf("%s/doctor.c", directory), *problem = NULL;
    char *unit = xasprintf("%s/unit.h", directory);
    struct strbuf output = {0};
    int status = 0;
    char *const argv[] = {
        program,          "--output", directory, "--id", "1",  "--language", "c",
        "--probe-header", header,     source,    "--",   "-x", "c",          NULL};
    int err = write_program(source) ? capture_output(argv, NULL, 30.0, &output, &status) : -errno;
    if (err)
        problem = xstrdup(strerror(-err));
    else if (status && output.len)
        problem = xasprintf("%.*s", (int)strcspn(output.text, "\n"), output.text);
    else if (status)
        problem = xasprintf("it ends with %d", WIFEXITED(status) ? WEXITSTATUS(status) : status);
    else if (access(unit, R_OK) < 0)
        problem = xstrdup("it leaves nothing behind");
    strbuf_free(&output);
    free(source);
    free(unit);
    return problem;
}

void doctor_cc(void)
{
    char *program = install_instrument(), *header = install_header(INSTALL_PROBE_HEADER);
    const char *root = getenv("TMPDIR");
    char *directory = xasprintf("%s/loupe-doctor-XXXXXX", root && *root ? root : "/tmp");
    if (!program || !header) {
        doctor_say(DOCTOR_WARNING, "loupe cc", advice,
                   "%s was not found: everything is compiled without probes",
                   program ? INSTALL_PROBE_HEADER : INSTALL_INSTRUMENT);
    } else if (mkdtemp(directory)) {
        char *problem = try_instrument(program, header, directory);
        if (problem)
            doctor_say(DOCTOR_WARNING, "loupe cc", advice, "%s does not work: %s", program,
                       problem);
        else
            doctor_say(DOCTOR_OK, "loupe cc", NULL, "%s, works", program);
        free(problem);
        nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    free(directory);
    free(program);
    free(header);
}
