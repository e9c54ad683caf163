/* SPDX-License-Identifier: MIT */
/*
 * A header is looked for beside the file that includes it. So that an instrumented header is found
 * from one that is not, and the other way round, all headers of the user that a source can reach
 * stand in the tree: those that are instrumented as such, the others as links. What can be reached
 * is what is named in an include, whether or not the preprocessor comes by: too much does no harm.
 */
#include "cli/cc.h"

#include "base/alloc.h"
#include "base/map.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 10000 }; /* beyond, headers are found where they are, without probes */

struct mirror {
    const char *tree;
    struct cc_words quote, angle; /* directories of the user, absolute, with a slash */
    struct cc_words files;        /* absolute paths, those done and those to do */
    struct map known;
};

static bool same_file(const void *key, uint32_t value, const void *data)
{
    const struct mirror *m = data;
    return strcmp(key, m->files.at[value]) == 0;
}

static void reach(struct mirror *m, const char *path)
{
    uint64_t hash = map_hash(MAP_SEED, path, strlen(path));
    if (m->files.count >= FILES_MAX || map_find(&m->known, hash, same_file, path, m) != MAP_NONE)
        return;
    map_add(&m->known, hash, (uint32_t)m->files.count);
    cc_add(&m->files, path);
    const char *here = cc_text("%s%s", m->tree, path);
    cc_make_directories(here);
    if (symlink(path, here) < 0)
        return; /* it is instrumented */
}

static bool try_directory(struct mirror *m, const char *directory, const char *name)
{
    struct stat st;
    const char *path = cc_absolute(cc_text("%s%s", directory, name));
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    reach(m, path);
    return true;
}

static void look_up(struct mirror *m, const char *from, const char *name, bool quoted)
{
    if (name[0] == '/' || (quoted && try_directory(m, cc_directory_of(from), name)))
        return;
    for (size_t i = 0; quoted && i < m->quote.count; i++)
        if (try_directory(m, m->quote.at[i], name))
            return;
    for (size_t i = 0; i < m->angle.count; i++)
        if (try_directory(m, m->angle.at[i], name))
            return;
}

/* #include, #include_next, __has_include: the word, perhaps a parenthesis, a name in " or <. */
static const char *find_name(const char **text, size_t *len, bool *quoted)
{
    for (const char *p; (p = strstr(*text, "include"));) {
        p += strlen("include");
        if (strncmp(p, "_next", 5) == 0)
            p += 5;
        while (*p == ' ' || *p == '\t' || *p == '(')
            p++;
        *text = p;
        if (*p != '"' && *p != '<')
            continue;
        *quoted = *p == '"';
        *len = strcspn(p + 1, *quoted ? "\"\n" : ">\n");
        if (*len && p[1 + *len] && p[1 + *len] != '\n')
            return p + 1;
    }
    return NULL;
}

static void scan(struct mirror *m, const char *path)
{
    size_t size, len;
    bool quoted;
    char *text = cc_read(path, &size);
    const char *rest = text;
    for (const char *name; rest && (name = find_name(&rest, &len, &quoted));)
        look_up(m, path, cc_text("%.*s", (int)len, name), quoted);
    free(text);
}

void cc_mirror(const struct cc_unit *unit, const char *tree, const char *source)
{
    struct mirror m = {.tree = tree};
    for (size_t i = 0; i < unit->line->count; i++) {
        const struct cc_word *word = &unit->line->words[i];
        if (cc_is_search(unit, word))
            cc_add(word->role == CC_SEARCH ? &m.angle : &m.quote,
                   cc_text("%s/", cc_absolute(word->argument)));
    }
    reach(&m, source);
    for (size_t i = 0; i < m.files.count; i++)
        scan(&m, m.files.at[i]);
    free(m.quote.at);
    free(m.angle.at);
    free(m.files.at);
    map_free(&m.known);
}
