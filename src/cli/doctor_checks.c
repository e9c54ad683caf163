/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "cli/capture.h"
#include "cli/doctor.h"
#include "cli/install.h"
#include "cli/launcher.h"
#include "cli/program.h"
#include "cli/save.h"
#include "inject/target.h"
#include "record/place.h"
#include "tree/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef LOUPE_LIBDW_VERSION /* the build says it: only src/binary includes libdw's headers */
#define LOUPE_LIBDW_VERSION "unknown"
#endif

static void check_preload(void)
{
    char *library = install_library(INSTALL_PRELOAD);
    if (!library) {
        doctor_say(DOCTOR_PROBLEM, "library",
                   "install loupe (make install), or set " INSTALL_ENV_LIBDIR
                   " to the directory that holds it",
                   INSTALL_PRELOAD " was not found beside loupe: programs run unmonitored");
        return;
    }
    struct candidate program;
    int err = program_check("/bin/sh", library, &program);
    if (err || program.kind != PROGRAM_GOOD)
        doctor_say(DOCTOR_PROBLEM, "library", "rebuild loupe on this machine", "%s",
                   program.why.text);
    else
        doctor_say(DOCTOR_OK, "library", NULL, "%s, can be loaded", library);
    program_clear(&program);
    free(library);
}

static void check_shim(const char *name, const char *mpi)
{
    char *library = install_library(name);
    if (library)
        doctor_say(DOCTOR_OK, mpi, NULL, "%s", library);
    else
        doctor_say(DOCTOR_WARNING, mpi, "build loupe where this MPI's headers are installed",
                   "%s was not found: programs of this MPI run unmonitored", name);
    free(library);
}

void doctor_installation(void)
{
    check_preload();
    check_shim(INSTALL_SHIM_OPENMPI, "Open MPI");
    check_shim(INSTALL_SHIM_MPICH, "MPICH");
    doctor_say(DOCTOR_OK, "libdw", NULL, "%s: source lines from debug information",
               LOUPE_LIBDW_VERSION);
    const char *term = getenv("TERM");
    if (!term || !*term || strcmp(term, "dumb") == 0)
        doctor_say(DOCTOR_WARNING, "terminal", "set TERM, or use loupe top --once",
                   "TERM is %s: loupe top cannot draw", term && *term ? term : "not set");
    else
        doctor_say(DOCTOR_OK, "terminal", NULL, "%s", term);
}

static bool check_launcher(const char *name)
{
    static const char *const kinds[] = {"a plain program", "Open MPI", "Hydra (MPICH)", "Slurm",
                                        "unknown"};
    char *path = program_find(name);
    if (!path)
        return false;
    char *const argv[] = {path, "--version", NULL};
    struct strbuf output = {0};
    enum launcher_kind kind = launcher_by_name(path);
    int err = capture_output(argv, NULL, 5.0, &output, NULL);
    if (err == 0 && kind == LAUNCHER_UNKNOWN)
        kind = launcher_by_version(output.text ? output.text : "");
    if (kind == LAUNCHER_UNKNOWN)
        doctor_say(DOCTOR_WARNING, "launcher",
                   "put \"loupe exec\" before the program instead of loupe run",
                   "%s is of an unknown kind", path);
    else
        doctor_say(DOCTOR_OK, "launcher", NULL, "%s: %s", path, kinds[kind]);
    strbuf_free(&output);
    free(path);
    return true;
}

void doctor_launchers(void)
{
    static const char *const names[] = {"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra",
                                        "srun"};
    int found = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        found += check_launcher(names[i]);
    if (!found)
        doctor_say(DOCTOR_WARNING, "launcher", "install an MPI, or load its module",
                   "no mpirun, mpiexec or srun in PATH");
}

/* Makes a file there as a segment would be made: with its space allocated. */
static int try_file(const char *root)
{
    char name[17];
    int err = place_make_dir(root);
    if (err || (err = place_random_name(name)))
        return err;
    char *path = xasprintf("%s/.%s", root, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    err = fd < 0 ? -errno : -posix_fallocate(fd, 0, 512 * 1024);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    free(path);
    return err;
}

static void check_place(const char *subject, int (*root_of)(char *, size_t), bool needed)
{
    char root[PATH_MAX], parent[PATH_MAX];
    struct statvfs space;
    int err = root_of(root, sizeof root);
    if (err == 0) {
        snprintf(parent, sizeof parent, "%s", root);
        *strrchr(parent, '/') = 0;
        err = try_file(root);
    }
    if (err) {
        doctor_say(needed ? DOCTOR_PROBLEM : DOCTOR_WARNING, subject,
                   needed ? "set LOUPE_SHM_DIR to a directory in memory that you may write to"
                          : "set TMPDIR to a directory that you may write to",
                   "no segment can be made in %s: %s", root, strerror(-err));
        return;
    }
    if (statvfs(parent, &space) < 0)
        return;
    double unit = (double)space.f_frsize / (1024 * 1024);
    double size = unit * (double)space.f_blocks, free_ = unit * (double)space.f_bavail;
    /* MPICH alone takes 4.2 MB per rank; ours is small beside it. */
    bool tight = needed && free_ < 32;
    doctor_say(tight ? DOCTOR_WARNING : DOCTOR_OK, subject,
               tight ? "make room there (containers: --shm-size=1g); what does not fit goes to "
                       "$TMPDIR"
                     : NULL,
               "%s: %.0f MiB free of %.0f MiB, segments can be made", parent, free_, size);
}

void doctor_memory(void)
{
    check_place("shared memory", place_shm_root, true);
    check_place("TMPDIR", place_spill_root, false);
}

static bool read_word(const char *path, char *word, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool got = fgets(word, (int)size, file) != NULL;
    fclose(file);
    word[got ? strcspn(word, "\n") : 0] = 0;
    return got;
}

static bool cpu_flag(const char *flag)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t size = 0;
    bool found = false, flags = false;
    while (file && !flags && getline(&line, &size, file) > 0) {
        flags = strncmp(line, "flags", 5) == 0;
        found = flags && strstr(line, flag);
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Can a process of ours be seized? Containers and seccomp forbid that too. */
static int try_ptrace(void)
{
    int ends[2], err = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t child = fork();
    if (child == 0) {
        char end;
        close(ends[1]);
        _exit(read(ends[0], &end, 1) < 0);
    }
    if (child < 0 || ptrace(PTRACE_SEIZE, child, NULL, NULL) < 0)
        err = -errno;
    close(ends[0]);
    close(ends[1]); /* it ends, and with it what holds it */
    while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        ;
    return err;
}

static void check_ptrace(void)
{
    int scope = target_scope(), err = try_ptrace();
    bool all = target_may_trace_all();
    const char *advice =
        geteuid() == 0
            ? "for these, start the container with --cap-add=SYS_PTRACE, or outside of it: sysctl "
              "kernel.yama.ptrace_scope=0"
            : "for these, run loupe as root, or sysctl kernel.yama.ptrace_scope=0 (as root)";
    if (scope >= 3)
        doctor_say(DOCTOR_WARNING, "ptrace",
                   "for these, set it lower where it is set when the machine starts, and restart",
                   "ptrace_scope is %d: nobody can attach to processes until the machine is "
                   "restarted; loupe probe, loupe attach and --dynamic need it",
                   scope);
    else if (scope == 2 && !all)
        doctor_say(DOCTOR_WARNING, "ptrace", advice,
                   "ptrace_scope is 2: only who has CAP_SYS_PTRACE can attach to processes; loupe "
                   "probe, loupe attach and --dynamic need it");
    else if (err < 0)
        doctor_say(
            DOCTOR_WARNING, "ptrace", "for these, start the container with --cap-add=SYS_PTRACE",
            "attaching to a process fails: %s; loupe probe, loupe attach and --dynamic need it",
            strerror(-err));
    else if (scope == 1 && !all)
        doctor_say(DOCTOR_WARNING, "ptrace", advice,
                   "ptrace_scope is 1: only a process's own children can be attached to; loupe "
                   "probe and loupe attach need more");
    else
        doctor_say(DOCTOR_OK, "ptrace", NULL, "processes can be attached to (ptrace_scope %d)",
                   scope);
}

void doctor_machine(void)
{
    char word[256];
    bool invariant = cpu_flag(" constant_tsc") && cpu_flag(" nonstop_tsc");
    if (!read_word("/sys/devices/system/clocksource/clocksource0/current_clocksource", word,
                   sizeof word))
        snprintf(word, sizeof word, "unknown");
    bool good = invariant && strcmp(word, "tsc") == 0;
    doctor_say(good ? DOCTOR_OK : DOCTOR_WARNING, "clock",
               good ? NULL : "nothing to do; time stamps may cost more and agree less well",
               "the TSC is %s, the kernel's clock source is %s",
               invariant ? "invariant" : "not known to be invariant", word);
    check_ptrace();
}

void doctor_jobs(void)
{
    struct job **jobs = NULL;
    int running = 0, left = 0, err = jobs_list(&jobs);
    if (err < 0) {
        doctor_say(DOCTOR_WARNING, "jobs", NULL, "cannot be listed: %s", strerror(-err));
        return;
    }
    for (struct job **j = jobs; j && *j; j++) {
        bool busy = save_in_use(*j);
        running += busy;
        left += !busy;
    }
    jobs_free(jobs);
    doctor_say(left ? DOCTOR_WARNING : DOCTOR_OK, "jobs",
               left ? "save them with: loupe collect" : NULL, "%d running, %d left behind", running,
               left);
}
