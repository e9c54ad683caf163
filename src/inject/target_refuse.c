/* SPDX-License-Identifier: MIT */
/* Which processes cannot be attached to, and why: found before anything is touched, where it can
 * be. */
#include "inject/target_parts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

long status_number(const char *path, const char *key, int base)
{
    FILE *f = fopen(path, "re");
    char line[256];
    long value = -1;
    size_t len = strlen(key);
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, len) == 0) {
            value = strtol(line + len, NULL, base);
            break;
        }
    if (f)
        fclose(f);
    return value;
}

__attribute__((format(printf, 3, 4))) static int say(struct target_error *e, int code,
                                                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->message, sizeof e->message, format, args); // NOLINT(clang-analyzer-valist.*)
    va_end(args);
    return code;
}

static void name_of(pid_t pid, char *name, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(name, (int)room, f))
        snprintf(name, room, "?");
    if (f)
        fclose(f);
    name[strcspn(name, "\n")] = 0;
}

static char state_of(const char *status)
{
    FILE *f = fopen(status, "re");
    char line[256], state = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "State: %c", &state) == 1)
            break;
    if (f)
        fclose(f);
    return state;
}

static bool living_threads(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    return status_number(path, "Threads:", 10) > 1;
}

static int check_binary(pid_t pid, struct target_error *e)
{
    char path[64];
    unsigned char head[20] = {0};
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* the attempt itself will tell */
    ssize_t got = read(fd, head, sizeof head);
    close(fd);
    if (got < (ssize_t)sizeof head)
        return 0;
    if (head[EI_CLASS] != ELFCLASS64)
        return say(e, -ENOTSUP,
                   "process %d runs a 32-bit program: only 64-bit ones can be "
                   "instrumented; build it for 64 bits",
                   (int)pid);
    if (head[18] != EM_X86_64)
        return say(e, -ENOTSUP, "process %d runs a program for another machine", (int)pid);
    return 0;
}

int target_check(pid_t pid, struct target_error *e)
{
    char status[64], name[64];
    snprintf(status, sizeof status, "/proc/%d/status", (int)pid);
    char state = pid > 0 ? state_of(status) : 0;
    if (!state)
        return say(e, -ESRCH, "there is no process %d", (int)pid);
    long leader = status_number(status, "Tgid:", 10);
    if (leader > 0 && leader != pid)
        return say(e, -ESRCH, "%d is a thread of process %ld: attach to that", (int)pid, leader);
    if (pid == getpid())
        return say(e, -EINVAL, "process %d is Loupe itself", (int)pid);
    if ((state == 'Z' || state == 'X') && !living_threads(pid))
        return say(e, -ESRCH, "process %d has ended, its parent has not waited for it yet",
                   (int)pid);
    if (state != 'Z' && status_number(status, "VmSize:", 10) < 0)
        return say(e, -EPERM, "%d is a thread of the kernel", (int)pid);
    long tracer = status_number(status, "TracerPid:", 10);
    if (tracer > 0) {
        name_of((pid_t)tracer, name, sizeof name);
        return say(e, -EBUSY, "process %d is already traced by process %ld (%s): end that first",
                   (int)pid, tracer, name);
    }
    long theirs = status_number(status, "Seccomp_filters:", 10);
    long ours = status_number("/proc/self/status", "Seccomp_filters:", 10);
    if (theirs > 0 && theirs > ours)
        return say(e, -EPERM,
                   "process %d filters its system calls (seccomp): one that we need could end it, "
                   "so it is left alone; if the filter is a container's, run loupe inside that",
                   (int)pid);
    return check_binary(pid, e);
}

int target_scope(void)
{
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = 0;
    if (f && fscanf(f, "%d", &scope) != 1)
        scope = 0;
    if (f)
        fclose(f);
    return scope;
}

/* The kernel then gives what /proc has of it to root, whoever it belongs to. */
static bool protected(const char *status, long uid)
{
    struct stat st;
    return uid > 0 && stat(status, &st) == 0 && (long)st.st_uid != uid;
}

bool target_may_trace_all(void)
{
    enum { SYS_PTRACE = 19 }; /* number of the capability */
    long effective = status_number("/proc/self/status", "CapEff:", 16);
    return effective >= 0 && effective >> SYS_PTRACE & 1;
}

/* By the kernel, for a reason that is not the process itself. */
static int forbidden(pid_t pid, long uid, struct target_error *e)
{
    int scope = target_scope();
    bool root = geteuid() == 0;
    if (root && uid != 0 && !target_may_trace_all())
        return say(e, -EPERM,
                   "process %d belongs to another user (uid %ld), and root may not trace it here: "
                   "CAP_SYS_PTRACE is missing (of a container: --cap-add=SYS_PTRACE)",
                   (int)pid, uid);
    if (scope >= 1 && !target_may_trace_all())
        return say(e, -EPERM,
                   "kernel.yama.ptrace_scope is %d: attach %s, or have the "
                   "administrator run: sysctl kernel.yama.ptrace_scope=0",
                   scope,
                   root ? "with CAP_SYS_PTRACE (of a container: --cap-add=SYS_PTRACE)" : "as root");
    if (status_number("/proc/self/status", "Seccomp:", 10) > 0)
        return say(e, -EPERM,
                   "ptrace of process %d is forbidden: most likely by the filter for system calls "
                   "(seccomp) that loupe runs under; start the container with "
                   "--cap-add=SYS_PTRACE or --security-opt seccomp=unconfined, or run loupe "
                   "outside of it",
                   (int)pid);
    return say(e, -EPERM,
               "ptrace of process %d is forbidden: it may have other rights, or a security module "
               "or a container forbids it; attach as root, outside of the container, or start "
               "that with --cap-add=SYS_PTRACE",
               (int)pid);
}

int target_refused(pid_t pid, int why, struct target_error *e)
{
    char status[64];
    snprintf(status, sizeof status, "/proc/%d/status", (int)pid);
    if (why == -ESRCH || !state_of(status))
        return say(e, -ESRCH, "process %d has ended", (int)pid);
    if (why != -EPERM && why != -EACCES)
        return say(e, why, "process %d cannot be attached to: %s", (int)pid, strerror(-why));
    int scope = target_scope();
    if (scope >= 3) /* first: whoever it belongs to, being root does not help */
        return say(e, -EPERM,
                   "ptrace is switched off on this machine until it is restarted "
                   "(kernel.yama.ptrace_scope is %d)",
                   scope);
    long uid = status_number(status, "Uid:", 10);
    if (geteuid() != 0 && uid != (long)geteuid())
        return say(e, -EPERM, "process %d belongs to another user (uid %ld): attach %sas root",
                   (int)pid, uid, scope ? "" : "as that user or ");
    long tracer = status_number(status, "TracerPid:", 10);
    if (tracer > 0)
        return say(e, -EBUSY, "process %d is already traced by process %ld", (int)pid, tracer);
    if (geteuid() != 0 && protected(status, uid))
        return say(e, -EPERM,
                   "process %d is protected (not dumpable): it has more rights than you, its file "
                   "may not be read, or it has asked for it; attach as root",
                   (int)pid);
    return forbidden(pid, uid, e);
}
