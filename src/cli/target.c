/* SPDX-License-Identifier: MIT */
#include "cli/target.h"

#include "base/alloc.h"
#include "cli/dynamic.h"
#include "cli/install.h"
#include "cli/settings.h"
#include "record/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int target_prepare(const char *name, struct target *target)
{
    target->library = install_library(INSTALL_PRELOAD);
    int err = program_check(name, target->library, &target->program);
    if (err)
        return err;
    struct strbuf *why = &target->program.why;
    if (target->program.kind != PROGRAM_GOOD) {
        free(target->library);
        target->library = NULL;
    } else if (!target->library) {
        strbuf_printf(why,
                      "%s was not found beside loupe; %s runs unmonitored (install loupe, or "
                      "set " INSTALL_ENV_LIBDIR ")",
                      INSTALL_PRELOAD, name);
    } else if (strpbrk(target->library, " :")) {
        strbuf_printf(why,
                      "the path %s has a space or colon, which LD_PRELOAD cannot hold; %s "
                      "runs unmonitored (move loupe)",
                      target->library, name);
        free(target->library);
        target->library = NULL;
    }
    if (settings.dynamic && why->text) /* probes count in our library */
        strbuf_printf(why, "; --dynamic: its procedures get no probes%s",
                      target->program.kind == PROGRAM_STATIC
                          ? " (loupe probe counts and times in it while it runs)"
                          : "");
    return 0;
}

void target_clear(struct target *target)
{
    program_clear(&target->program);
    free(target->library);
    target->library = NULL;
}

/* Ours first, so that its MPI functions come before those of others; then what the user had.
 * `before_all`: what a sanitized program needs before even that. */
static void set_preload(const char *library, const char *before_all)
{
    const char *before = getenv("LD_PRELOAD");
    struct strbuf all = {0};
    strbuf_printf(&all, "%s%s", before_all ? before_all : "", library);
    char *copy = xstrdup(before ? before : ""), *rest = copy;
    for (char *word; (word = strsep(&rest, " :"));)
        if (*word && strcmp(word, library) != 0)
            strbuf_printf(&all, ":%s", word);
    setenv("LD_PRELOAD", all.text, 1);
    free(copy);
    strbuf_free(&all);
}

/* As execvp does for files without "#!" that are no program. */
static void exec_by_shell(const char *path, char *const argv[])
{
    size_t count = 0, room = 0;
    char **words = NULL;
    *VEC_PUSH(words, count, room) = "/bin/sh";
    *VEC_PUSH(words, count, room) = (char *)path;
    for (char *const *a = argv + 1; *a; a++)
        *VEC_PUSH(words, count, room) = *a;
    *VEC_PUSH(words, count, room) = NULL;
    execv(words[0], words);
    free(words);
}

int target_exec(const struct target *target, const struct job *job, char *const argv[])
{
    if (target->library) {
        char pid[16];
        struct strbuf options = {0};
        snprintf(pid, sizeof pid, "%d", (int)getpid());
        settings_for_target(&options);
        if (job) {
            setenv(PLACE_ENV_JOB_DIR, job->dir, 1);
            setenv(PLACE_ENV_SPILL, job->spill_dir ? job->spill_dir : "", 1);
        } else { /* unmonitored, but there for the others */
            unsetenv(PLACE_ENV_JOB_DIR);
        }
        if (settings.alike)
            setenv(PLACE_ENV_TOGETHER, "1", 1);
        else
            unsetenv(PLACE_ENV_TOGETHER);
        setenv(PLACE_ENV_ROOT_PID, pid, 1);
        setenv(PLACE_ENV_OPTIONS, options.text, 1);
        set_preload(target->library, target->program.first.text);
        strbuf_free(&options);
        dynamic_begin(job);
    }
    execv(target->program.path, argv);
    int err = -errno;
    if (err == -ENOEXEC)
        exec_by_shell(target->program.path, argv);
    return err;
}
