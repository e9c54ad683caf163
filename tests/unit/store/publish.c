/* SPDX-License-Identifier: MIT */
/* The run file appears complete or not at all, and nothing else stays in its directory. */
#include "lib/tap.h"
#include "sample.h"
#include "scratch.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void never_overwrites(void)
{
    char *path = scratch_path("there.loupe");
    struct run *small = sample_large(1, 2), *odd = sample_odd(), *back = NULL;
    ok(store_write(small, path, false, NULL, NULL) == 0, "a new file is written");
    ok(store_write(odd, path, false, NULL, NULL) == -EEXIST, "not over a file that is there");
    store_read(path, &back, NULL);
    ok(back && !sample_difference(small, back), "which is untouched");
    run_free(back);
    ok(store_write(odd, path, true, NULL, NULL) == 0, "overwritten when asked to");
    back = NULL;
    store_read(path, &back, NULL);
    ok(back && !sample_difference(odd, back), "with the new content");
    ok(scratch_files(scratch) == 1, "no temporary file stays");
    unlink(path);
    ok(!symlink("nowhere", path) && store_write(odd, path, false, NULL, NULL) == -EEXIST,
       "not through a dangling link either");
    unlink(path);
    run_free(back);
    run_free(small);
    run_free(odd);
    free(path);
}

static void appear(void *data, uint64_t done, uint64_t total)
{
    (void)total;
    if (done)
        close(open(data, O_CREAT | O_WRONLY | O_EXCL, 0600));
}

/* Somebody takes the name while the file is being written. */
static void never_overwrites_late(void)
{
    char *path = scratch_path("late.loupe");
    struct run *run = sample_large(10, 1000);
    struct stat st;
    ok(store_write(run, path, false, appear, path) == -EEXIST, "-EEXIST for a late comer too");
    ok(!stat(path, &st) && st.st_size == 0, "whose file is untouched");
    ok(scratch_files(scratch) == 1, "no temporary file stays");
    unlink(path);
    run_free(run);
    free(path);
}

static void names(void)
{
    struct run *run = sample_odd(), *back = NULL;
    if (chdir(scratch))
        printf("# cannot change the directory\n");
    ok(store_write(run, "file:x?mode=memory", false, NULL, NULL) == 0 &&
           !access("file:x?mode=memory", F_OK),
       "a name that looks like a URI is a name");
    ok(store_read("file:x?mode=memory", &back, NULL) == 0, "for reading as well");
    unlink("file:x?mode=memory");
    mode_t old = umask(027);
    struct stat st = {0};
    store_write(run, "mode.loupe", false, NULL, NULL);
    umask(old);
    ok(!stat("mode.loupe", &st) && (st.st_mode & 0777) == 0640, "permissions follow the umask");
    unlink("mode.loupe");
    ok(store_write(run, "no/such/place.loupe", false, NULL, NULL) == -ENOENT, "no directory");
    ok(store_write(run, "", false, NULL, NULL) == -ENOENT, "no name");
    run_free(back);
    run_free(run);
}

static void inconsistent_runs(void)
{
    char *path = scratch_path("bad.loupe");
    struct run *run = sample_odd();
    run->values[0].node = 99;
    ok(store_write(run, path, false, NULL, NULL) == -EINVAL, "a value of no node: -EINVAL");
    run_free(run);
    run = sample_odd();
    run->peers[1] = run->peers[0];
    ok(store_write(run, path, false, NULL, NULL) == -EINVAL, "peers out of order: -EINVAL");
    run_free(run);
    ok(scratch_files(scratch) == 0, "nothing is written");
    free(path);
}

/* In a child: limits the size of files, or mounts a tiny file system of its own. */
static int write_in_child(int tiny_disk)
{
    struct run *run = sample_large(200, 50);
    pid_t child = fork();
    if (child == 0) {
        char *path = scratch_path("full/run.loupe"), *dir = scratch_path("full");
        struct rlimit limit = {65536, 65536};
        int private = CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0);
        signal(SIGXFSZ, SIG_IGN);
        mkdir(dir, 0700);
        if (!tiny_disk)
            setrlimit(RLIMIT_FSIZE, &limit);
        else if (unshare(private) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
                 mount("tmpfs", dir, "tmpfs", 0, "size=64k"))
            _exit(77);
        int error = store_write(run, path, false, NULL, NULL);
        _exit(scratch_files(dir) ? 99 : -error);
    }
    int status = 0;
    waitpid(child, &status, 0);
    run_free(run);
    char *dir = scratch_path("full");
    rmdir(dir);
    free(dir);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void full_disks(void)
{
    int error = write_in_child(1);
    if (error == 77)
        ok(1, "a full disk: -ENOSPC # SKIP may not mount a small one");
    else
        ok(error == ENOSPC, "a full disk: -ENOSPC and nothing left behind (%d)", error);
    error = write_in_child(0);
    ok(error == EFBIG || error == EIO, "a file too large: an error and nothing left behind (%d)",
       error);
}

int main(void)
{
    scratch_begin();
    never_overwrites();
    never_overwrites_late();
    inconsistent_runs();
    full_disks();
    names();
    scratch_end();
    return tap_done();
}
