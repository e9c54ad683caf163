/* SPDX-License-Identifier: MIT */
/*
 * The compilers' answers, kept in $XDG_CACHE_HOME/loupe, one file each: the key that it answers,
 * an empty line, and a line for each fact. A file appears by rename, so that builds at the same
 * time see all of it or nothing; without a place to write to, the compiler is asked every time.
 */
#include "cli/cc.h"

#include "base/map.h"
#include "base/strbuf.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ANSWERS_MAX = 1000 };

static const char *cache_directory(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        return cc_text("%s/loupe", cache);
    return home && home[0] == '/' ? cc_text("%s/.cache/loupe", home) : NULL;
}

static const char *cache_file(const char *key)
{
    const char *directory = cache_directory();
    uint64_t hash = map_hash(MAP_SEED, key, strlen(key));
    return directory ? cc_text("%s/cc-%016" PRIx64, directory, hash) : NULL;
}

static bool take_fact(struct cc_answer *answer, const char *line)
{
    const char *value = cc_text("%s", line[0] && line[1] == ' ' ? line + 2 : "");
    switch (line[0]) {
    case 'c': return sscanf(value, "%ld", &answer->major) == 1 && (answer->clang = true);
    case 'g': return sscanf(value, "%ld", &answer->major) == 1;
    case 'f': return (answer->fit = true);
    case 's': answer->standard = value; break;
    case 'd': cc_add(&answer->directories, value); break;
    case 'm': cc_add(&answer->defines, value); break;
    case 'p':
        answer->private_headers = value;
        answer->before = answer->directories.count;
        break;
    case '.': return true;
    default: return false;
    }
    /* The compiler behind an unchanged wrapper may have been replaced: its directories tell. */
    return line[0] == 's' || line[0] == 'm' || access(value, X_OK) == 0;
}

/* The last line is a dot: what a full disk has cut is no answer. */
static bool take_facts(struct cc_answer *answer, char *text)
{
    char *rest = NULL;
    bool whole = false;
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
        if (!take_fact(answer, l))
            return false;
        whole = l[0] == '.';
    }
    if (!answer->private_headers)
        answer->before = answer->directories.count;
    return whole && answer->standard && answer->major > 0;
}

bool cc_cache_read(const char *key, struct cc_answer *answer)
{
    const char *file = cache_file(key);
    size_t size, len = strlen(key);
    char *text = file ? cc_read(file, &size) : NULL;
    bool good = text && size > len + 1 && memcmp(text, key, len) == 0 && text[len] == '\n' &&
                take_facts(answer, text + len + 1);
    free(text);
    if (!good) {
        free(answer->directories.at);
        free(answer->defines.at);
        *answer = (struct cc_answer){0};
    }
    return good;
}

/* Answers for compilers and options that are no more would stay for ever: at a thousand, begin
 * anew. */
static void make_room(const char *directory)
{
    int count = 0;
    for (int pass = 0; pass < 2; pass++) {
        DIR *dir = opendir(directory);
        if (!dir)
            return;
        for (struct dirent *e; (e = readdir(dir));) {
            count += pass == 0;
            if (pass == 1 && strncmp(e->d_name, "cc-", 3) == 0)
                unlinkat(dirfd(dir), e->d_name, 0);
        }
        closedir(dir);
        if (count < ANSWERS_MAX)
            return;
    }
}

void cc_cache_write(const char *key, const struct cc_answer *answer)
{
    const char *directory = cache_directory(), *file = cache_file(key);
    struct strbuf text = {0};
    if (!file)
        return;
    cc_make_directories(file);
    make_room(directory);
    strbuf_printf(&text, "%s\n%c %ld\n", key, answer->clang ? 'c' : 'g', answer->major);
    strbuf_puts(&text, answer->fit ? "f\n" : "");
    strbuf_printf(&text, "s %s\n", answer->standard);
    for (size_t i = 0; i <= answer->directories.count; i++) {
        if (answer->private_headers && i == answer->before)
            strbuf_printf(&text, "p %s\n", answer->private_headers);
        if (i < answer->directories.count)
            strbuf_printf(&text, "d %s\n", answer->directories.at[i]);
    }
    for (size_t i = 0; i < answer->defines.count; i++)
        strbuf_printf(&text, "m %s\n", answer->defines.at[i]);
    strbuf_puts(&text, ".\n");
    struct timespec now; /* homes are shared by machines, with the same process numbers */
    clock_gettime(CLOCK_REALTIME, &now);
    const char *made = cc_text("%s/new-%ld-%ld", directory, (long)getpid(), now.tv_nsec);
    if (!cc_write(made, text.text, text.len) || rename(made, file) < 0)
        unlink(made);
    strbuf_free(&text);
}
