/* SPDX-License-Identifier: MIT */
#include "tree/process.h"

#include "base/map.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Inode of the machine's first PID namespace, the same on every kernel: from there all is seen. */
#define FIRST_NAMESPACE 4026531836u

/* The kernel's PF_EXITING: the thread has begun to end and runs no code of its program any more.
 * Giving back its memory can take it long after that, before it is a zombie. */
#define EXITING 0x4u

static bool read_proc(int32_t pid, const char *file, char *text, size_t room)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, text, room - 1);
    close(fd);
    text[len > 0 ? len : 0] = 0;
    return len > 0;
}

struct thread {
    bool over; /* ended or about to: what it has written is its last word */
    unsigned long long started;
};

static bool read_thread(int32_t pid, const char *file, struct thread *thread)
{
    char text[1024], state;
    unsigned flags;
    if (!read_proc(pid, file, text, sizeof text))
        return false;
    /* The command's name stands in parentheses and may contain any character, these too. */
    const char *after = strrchr(text, ')');
    if (!after ||
        sscanf(after + 1,
               " %c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &state, &flags, &thread->started) != 3)
        return false;
    thread->over = state == 'Z' || state == 'X' || flags & EXITING;
    return true;
}

/* One look at all threads: does any run on? `who` tells the lists of two looks apart. */
static bool any_runs(int32_t pid, uint64_t *who)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    bool runs = !tasks && errno != ENOENT; /* cannot be known: no reason to call it dead */
    *who = MAP_SEED;
    for (struct dirent *e; tasks && !runs && (e = readdir(tasks));) {
        struct thread thread;
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        *who = map_hash(*who, e->d_name, strlen(e->d_name));
        snprintf(path, sizeof path, "task/%s/stat", e->d_name);
        runs = read_thread(pid, path, &thread) && !thread.over;
    }
    if (tasks)
        closedir(tasks);
    return runs;
}

/* A thread may start another behind our back and end before we come to it; but then the next look
 * finds the list changed. */
static bool threads_run(int32_t pid)
{
    enum { LOOKS_MAX = 1000 };
    uint64_t before, now;
    bool runs = any_runs(pid, &now);
    for (int i = 0; !runs && i < LOOKS_MAX; i++) {
        before = now;
        runs = any_runs(pid, &now);
        if (now == before)
            return runs;
    }
    return true;
}

uint64_t process_started(int32_t pid)
{
    struct thread first;
    if (pid <= 0 || !read_thread(pid, "stat", &first))
        return 0;
    /* A first thread that ended by itself is over too, while the others go on. */
    if (first.over && !threads_run(pid))
        return 0;
    return first.started;
}

static uint32_t namespace_of(const char *process)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%s/ns/pid", process);
    return stat(path, &st) ? 0 : (uint32_t)st.st_ino;
}

uint32_t process_namespace(void)
{
    return namespace_of("self");
}

/* The PID that a process has in its own, innermost namespace. */
static int32_t inner_pid(int32_t pid)
{
    char text[4096];
    if (!read_proc(pid, "status", text, sizeof text))
        return -1;
    const char *line = strstr(text, "\nNSpid:");
    if (!line)
        return -1;
    line += strlen("\nNSpid:");
    const char *end = strchr(line, '\n');
    int32_t inner = -1;
    while (line < end) {
        char *next;
        long value = strtol(line, &next, 10);
        if (next == line || next > end)
            break;
        inner = (int32_t)value;
        line = next;
    }
    return inner;
}

static enum process_life search(int32_t pid, uint64_t started, uint32_t space, uint32_t here)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return PROCESS_HIDDEN;
    bool found = false;
    for (struct dirent *e; !found && (e = readdir(proc));) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        int32_t outer = (int32_t)strtol(e->d_name, NULL, 10);
        found = process_started(outer) == started && namespace_of(e->d_name) == space &&
                inner_pid(outer) == pid;
    }
    closedir(proc);
    if (found)
        return PROCESS_ALIVE;
    return here == FIRST_NAMESPACE ? PROCESS_DEAD : PROCESS_HIDDEN;
}

enum process_life process_life(int32_t pid, uint64_t started, uint32_t space)
{
    static uint32_t own;
    if (!own)
        own = process_namespace();
    if (space && own && space != own)
        return search(pid, started, space, own);
    return started && process_started(pid) == started ? PROCESS_ALIVE : PROCESS_DEAD;
}
