/* SPDX-License-Identifier: MIT */
/* Processes of loupe cc: whoever waits for us sees the compiler's end, and nothing of ours stays
 * behind, also when the user ends it. */
#include "cli/cc.h"

#include "base/log.h"
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct supervisor supervisor;
static bool supervising;
static const char *scratch;

/* A prefix that is mapped to another one is given to the compiler as OLD=NEW. */
static bool usable(const char *directory)
{
    return directory && directory[0] == '/' && !strchr(directory, '=') &&
           access(directory, W_OK | X_OK) == 0;
}

const char *cc_scratch(void)
{
    static bool tried;
    if (tried)
        return scratch;
    tried = true;
    /* From here on there is something to tidy up, so signals are taken over before. */
    supervisor_begin(&supervisor);
    supervising = true;
    const char *root = getenv("TMPDIR");
    char *made = (char *)cc_text("%s/loupe-cc-XXXXXX", usable(root) ? root : "/tmp");
    if (mkdtemp(made))
        scratch = made;
    return scratch;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (kind == FTW_DP)
        rmdir(path);
    else
        unlink(path);
    return 0;
}

static void tidy_up(void)
{
    if (scratch)
        nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    scratch = NULL;
}

static void redirect(int fd, const char *path)
{
    if (!path)
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(EXIT_LOUPE);
}

static _Noreturn void become(const char *const *argv, const char *out, const char *err,
                             unsigned seconds)
{
    supervisor_child(&supervisor);
    redirect(1, out);
    redirect(2, err);
    if (seconds) {
        struct rlimit limit = {.rlim_cur = seconds, .rlim_max = seconds + 5};
        setrlimit(RLIMIT_CPU, &limit);
    }
    execvp(argv[0], (char *const *)argv);
    _exit(errno == ENOENT ? 127 : 126);
}

static bool ended_by_user(int status)
{
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

int cc_run(const struct cc_words *words, const char *out, const char *err, unsigned seconds)
{
    fflush(NULL);
    supervisor.ended = false;
    supervisor.child = fork();
    if (supervisor.child == 0)
        become(words->at, out, err, seconds);
    if (supervisor.child < 0)
        return W_EXITCODE(126, 0);
    supervisor_wait(&supervisor, 0, NULL, NULL);
    if (ended_by_user(supervisor.status))
        cc_end(supervisor.status);
    return supervisor.status;
}

void cc_exec(const char *const *argv)
{
    tidy_up();
    if (supervising)
        supervisor_child(&supervisor);
    execvp(argv[0], (char *const *)argv);
    int err = errno;
    log_error("%s: %s", argv[0], strerror(err));
    exit(err == ENOENT ? 127 : 126);
}

void cc_end(int status)
{
    tidy_up();
    supervisor.status = status;
    free(supervisor.ends);
    supervisor.ends = NULL;
    supervisor_end_alike(&supervisor);
}
