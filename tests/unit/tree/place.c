/* SPDX-License-Identifier: MIT */
#include "record/place.h"

#include "lib/tap.h"
#include "segments.h"

#include <errno.h>

int main(void)
{
    char root[128], path[256], other[256], name[17], again[17];
    int dir = segment_begin(root, sizeof root);

    ok(!place_shm_root(path, sizeof path) && !strncmp(path, root, strlen(root)) &&
           strstr(path, "/loupe-"),
       "the root follows " PLACE_ENV_SHM_ROOT);
    ok(place_shm_root(path, 8) == -ENAMETOOLONG, "a path that does not fit is refused");
    setenv(PLACE_ENV_SHM_ROOT, "relative", 1);
    ok(place_shm_root(path, sizeof path) == -EINVAL, "a relative root is refused");
    setenv("TMPDIR", "relative", 1);
    ok(!place_spill_root(path, sizeof path) && !strncmp(path, "/tmp/loupe-", 11),
       "a relative TMPDIR is not used");

    snprintf(path, sizeof path, "%s/d", root);
    mode_t mask = umask(0777);
    ok(!place_make_dir(path), "a directory is made");
    umask(mask);
    struct stat st;
    ok(!stat(path, &st) && (st.st_mode & 07777) == 0700, "with mode 0700, whatever the umask");
    ok(!place_make_dir(path), "and accepted when it is there");
    int fd = place_open_dir(path);
    ok(fd >= 0, "and opened");
    ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "closed on exec");
    close(fd);

    chmod(path, 0755);
    ok(place_make_dir(path) == -EPERM, "one that others can look into is refused (make)");
    ok(place_open_dir(path) == -EPERM, "one that others can look into is refused (open)");
    chmod(path, 0700);
    snprintf(other, sizeof other, "%s/link", root);
    ok(!symlink(path, other) && place_make_dir(other) == -EPERM, "a symlink is refused (make)");
    ok(place_open_dir(other) == -EPERM, "a symlink is refused (open)");
    snprintf(other, sizeof other, "%s/file", root);
    close(open(other, O_CREAT | O_WRONLY, 0600));
    ok(place_make_dir(other) == -EPERM, "a file is refused");

    snprintf(other, sizeof other, "%s/d/inner", root);
    chmod(path, 0777);
    ok(place_make_dir(other) == -EPERM, "a parent that everyone may write to is refused");
    chmod(path, 01777);
    ok(!place_make_dir(other), "with the sticky bit it is accepted");
    chmod(path, 0700);
    if (!geteuid()) {
        ok(!chown(path, 1234, 1234) && place_open_dir(path) == -EPERM,
           "a directory of somebody else is refused");
        chmod(path, 01777);
        ok(place_open_dir(other) == -EPERM, "so is one in a directory of somebody else");
    }
    ok(place_open_dir("/nowhere/at/all") == -ENOENT, "one that is not there is -ENOENT");
    ok(place_make_dir("noslash") == -EINVAL, "a relative path is refused");

    ok(!place_random_name(name) && strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16,
       "a name has 16 hexadecimal digits");
    ok(!place_random_name(again) && strcmp(name, again), "and is another one each time");
    close(dir);
    segment_end(root);
    return tap_done();
}
