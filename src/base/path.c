/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Takes the last component away, unless there is none to take or it is "..". */
static bool go_up(struct strbuf *b)
{
    char *slash = b->len ? strrchr(b->text, '/') : NULL;
    const char *last = slash ? slash + 1 : b->text;
    if (!b->len || !*last || !strcmp(last, ".."))
        return false;
    b->len = slash ? (size_t)(slash - b->text) : 0;
    b->text[b->len] = 0;
    return true;
}

static char *plain(const char *path)
{
    struct strbuf b = {0};
    bool absolute = path[0] == '/';
    while (*path) {
        size_t len = strcspn(path, "/");
        bool up = len == 2 && !strncmp(path, "..", 2);
        if (len && !(len == 1 && *path == '.') && !(up && (go_up(&b) || absolute))) {
            if (b.len || absolute)
                strbuf_putc(&b, '/');
            strbuf_add(&b, path, len);
        }
        path += len;
        path += strspn(path, "/");
    }
    return strbuf_take(&b);
}

char *path_shown(const char *path, const char *directory)
{
    char *shown = plain(path);
    char *below = plain(directory ? directory : "");
    size_t len = strlen(below);
    if (len && !strncmp(shown, below, len) && shown[len] == '/' && shown[len + 1])
        memmove(shown, shown + len + 1, strlen(shown + len + 1) + 1);
    free(below);
    return shown;
}

char *path_full(const char *path, const char *directory)
{
    if (*path == '/' || !directory || !*directory)
        return plain(path);
    char *joined = xasprintf("%s/%s", directory, path);
    char *full = plain(joined);
    free(joined);
    return full;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
