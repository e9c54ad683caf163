/* SPDX-License-Identifier: MIT */
#include "cli/program.h"

#include "base/alloc.h"
#include "cli/capture.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char **environ;

#define UNSEEN "its MPI statements cannot be seen this way"

static int startable(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return access(path, X_OK) < 0 ? -errno : 0;
}

char *program_find(const char *name)
{
    int err = -ENOENT;
    if (strchr(name, '/')) {
        err = startable(name);
        if (err == 0)
            return xstrdup(name);
        errno = -err;
        return NULL;
    }
    const char *path = getenv("PATH");
    char *all = xstrdup(path ? path : "/bin:/usr/bin"), *rest = all, *found = NULL;
    for (char *dir; *name && !found && (dir = strsep(&rest, ":"));) {
        char *candidate = xasprintf("%s/%s", *dir ? dir : ".", name);
        int problem = startable(candidate);
        if (problem == 0)
            found = candidate;
        else
            free(candidate);
        if (problem == -EACCES)
            err = problem; /* as execvp: remembered, but the search goes on */
    }
    free(all);
    errno = -err;
    return found;
}

static int cannot_start(const char *name, int err, struct candidate *program)
{
    struct strbuf *why = &program->why;
    if (err == -ENOENT && strchr(name, '/'))
        strbuf_printf(why, "%s: no such program; check the path", name);
    else if (err == -ENOENT) {
        strbuf_printf(why, "%s: no such program in PATH", name);
        if (startable(name) == 0)
            strbuf_printf(why, "; did you mean ./%s?", name);
        else
            strbuf_puts(why, "; check the name, or give its path");
    } else if (err == -EACCES)
        strbuf_printf(why, "%s: not executable by you; try: chmod +x %s", name, name);
    else if (err == -EISDIR)
        strbuf_printf(why, "%s: is a directory, not a program; name the program in it", name);
    else
        strbuf_printf(why, "%s: %s", name, strerror(-err));
    return err;
}

/* The dynamic loader that the ELF file names, owned by the caller; NULL: none. */
static char *elf_loader(int fd, const Elf64_Ehdr *header)
{
    for (unsigned i = 0; i < header->e_phnum && i < 256; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(header->e_phoff + (uint64_t)i * sizeof segment);
        if (header->e_phentsize != sizeof segment ||
            pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment)
            return NULL;
        if (segment.p_type != PT_INTERP || segment.p_filesz > 4096)
            continue;
        char *loader = xcalloc(1, segment.p_filesz + 1);
        if (pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset) > 0)
            return loader;
        free(loader);
    }
    return NULL;
}

/* Whether running this file changes privileges, so that the loader ignores our variables. */
static const char *privileges(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return NULL;
    if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
        return "is setuid";
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid())
        return "is setgid";
    if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "has file capabilities";
    return NULL;
}

static char **environment_with(const char *library)
{
    size_t count = 0, room = 0;
    char **copy = NULL;
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
            *VEC_PUSH(copy, count, room) = xstrdup(*e);
    *VEC_PUSH(copy, count, room) = xasprintf("LD_PRELOAD=%s", library);
    *VEC_PUSH(copy, count, room) = NULL;
    return copy;
}

/* Sanitizers end a program before main when another library is loaded before theirs. */
static void note_runtime(const char *line, struct candidate *program)
{
    static const char *const names[] = {"libasan.so",   "libtsan.so",       "liblsan.so",
                                        "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan"};
    line += strspn(line, " \t");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(line, names[i], strlen(names[i])))
            strbuf_printf(&program->first, "%.*s:", (int)strcspn(line, " "), line);
}

/*
 * Asks the program's own loader what it would load, without running the program: in a container
 * or with an older C library ours may not load, and would take the program down with it.
 */
static void try_preload(const char *loader, const char *path, const char *library,
                        struct candidate *program)
{
    char *const argv[] = {(char *)loader, "--list", (char *)path, NULL};
    char **environment = environment_with(library);
    struct strbuf output = {0};
    int status = 0, err = capture_output(argv, environment, 10.0, &output, &status);
    for (char **e = environment; *e; e++)
        free(*e);
    free(environment);
    char *trouble = NULL, *rest = output.text;
    bool seen = false;
    for (char *line; (line = strsep(&rest, "\n")) && !trouble;) {
        note_runtime(line, program);
        if (!strstr(line, library))
            continue;
        if (strstr(line, "not found") || strstr(line, "cannot be preloaded") ||
            strstr(line, "Error "))
            trouble = line;
        else
            seen = true;
    }
    /* A loader that cannot list is no reason to go without; one that left our library out is. */
    if (err == 0 && (trouble || (!seen && WIFEXITED(status) && WEXITSTATUS(status) == 0))) {
        program->kind = PROGRAM_UNFIT;
        strbuf_printf(&program->why, "%s cannot be loaded into %s (%s); " UNSEEN, library, path,
                      trouble ? trouble + strspn(trouble, " \t") : "its loader leaves it out");
    }
    strbuf_free(&output);
}

static void check_elf(int fd, const char *path, const char *library, struct candidate *program)
{
    Elf64_Ehdr header;
    Elf64_Half here;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool known = self >= 0 && pread(self, &header, sizeof header, 0) == (ssize_t)sizeof header;
    here = known ? header.e_machine : EM_X86_64;
    if (self >= 0)
        close(self);
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != here) {
        program->kind = PROGRAM_FOREIGN;
        strbuf_printf(&program->why, "%s is a %s program; " UNSEEN, path,
                      header.e_ident[EI_CLASS] != ELFCLASS64 ? "32-bit" : "foreign architecture's");
        return;
    }
    char *loader = elf_loader(fd, &header);
    const char *privileged = privileges(fd);
    if (!loader) {
        program->kind = PROGRAM_STATIC;
        strbuf_printf(&program->why, "%s is statically linked; " UNSEEN " (link it dynamically)",
                      path);
    } else if (privileged) {
        program->kind = PROGRAM_PRIVILEGED;
        strbuf_printf(&program->why, "%s %s, so the loader ignores LD_PRELOAD; " UNSEEN, path,
                      privileged);
    } else if (library) {
        try_preload(loader, path, library, program);
    }
    free(loader);
}

/* Scripts lead to their interpreter, which may be one again; the kernel follows a few as well. */
static void check_file(const char *path, const char *library, int depth, struct candidate *program)
{
    char text[256] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return; /* executable but not readable: nothing to be known */
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    if (len >= SELFMAG && memcmp(text, ELFMAG, SELFMAG) == 0) {
        check_elf(fd, path, library, program);
    } else if (len > 2 && text[0] == '#' && text[1] == '!' && depth < 4) {
        char *interpreter = text + 2 + strspn(text + 2, " \t");
        interpreter[strcspn(interpreter, " \t\n")] = 0;
        if (*interpreter)
            check_file(interpreter, library, depth + 1, program);
    }
    close(fd);
}

int program_check(const char *name, const char *library, struct candidate *program)
{
    *program = (struct candidate){.kind = PROGRAM_GOOD};
    program->path = program_find(name);
    if (!program->path)
        return cannot_start(name, -errno, program);
    check_file(program->path, library, 0, program);
    return 0;
}

void program_clear(struct candidate *program)
{
    free(program->path);
    strbuf_free(&program->first);
    strbuf_free(&program->why);
    *program = (struct candidate){0};
}
