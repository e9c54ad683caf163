/* SPDX-License-Identifier: MIT */
/*
 * Machine code does not say whether a loop is a `for`, a `while` or a `do`, nor on which line a
 * `do` stands. The source does, if it is there and no younger than the binary: its words are looked
 * at, without comments, texts and directives. What does not fit keeps its name, "loop".
 */
#include "base/alloc.h"
#include "binary/machine_inner.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MOST = 16 << 20, DEPTH_MOST = 256 };

struct word { /* that begins a loop */
    const char *name;
    uint32_t line;
    uint32_t body; /* of a do: the line of what comes next in it */
};

struct words {
    const char *path;
    struct word *words; /* by line */
    size_t count, room;
};

struct reader {
    const char *begin, *at;
    uint32_t line;
    bool fresh; /* at the beginning of a line */
};

static char *read_text(const char *path, int64_t youngest)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= TEXT_MOST &&
        st.st_mtim.tv_sec <= youngest) {
        text = xcalloc((size_t)st.st_size + 1, 1);
        ssize_t got = pread(fd, text, (size_t)st.st_size, 0);
        text[got > 0 ? got : 0] = 0;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

static void step(struct reader *r)
{
    r->line += *r->at == '\n';
    r->fresh = *r->at == '\n' || (r->fresh && isspace((unsigned char)*r->at));
    r->at++;
}

/* Past what begins here, up to and with its end; a backslash hides what follows it. */
static void skip_to(struct reader *r, const char *end)
{
    size_t length = strlen(end);
    while (*r->at && strncmp(r->at, end, length) != 0) {
        if (*r->at == '\\' && r->at[1])
            step(r);
        step(r);
    }
    for (size_t i = 0; i < length && *r->at; i++)
        step(r);
}

/* Comments, texts, directives; false: there is none here. */
static bool skip_other(struct reader *r)
{
    bool in_number = r->at > r->begin && isxdigit((unsigned char)r->at[-1]); /* 1'000 */
    const char *end = *r->at == '#' && r->fresh      ? "\n"
                      : !strncmp(r->at, "//", 2)     ? "\n"
                      : !strncmp(r->at, "/*", 2)     ? "*/"
                      : *r->at == '"'                ? "\""
                      : *r->at == '\'' && !in_number ? "'"
                                                     : NULL;
    if (!end)
        return false;
    step(r);
    if (*r->at == '*' && end[0] == '*')
        step(r);
    skip_to(r, end);
    return true;
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return length == strlen(word) && !memcmp(at, word, length);
}

/* The `while` behind the brace that ends a `do` begins no loop. */
static void find_words(struct words *w, const char *text)
{
    struct reader r = {.begin = text, .at = text, .line = 1, .fresh = true};
    bool of_do[DEPTH_MOST] = {false}, behind_do = false, ends_do = false;
    size_t depth = 0, open = SIZE_MAX;
    while (*r.at) {
        size_t length = word_length(r.at);
        if (isspace((unsigned char)*r.at)) {
            step(&r);
            continue;
        }
        if (!length && skip_other(&r))
            continue;
        if (open != SIZE_MAX && *r.at != '{') {
            w->words[open].body = r.line;
            open = SIZE_MAX;
        }
        const char *name = is_word(r.at, length, "for")                 ? "for"
                           : is_word(r.at, length, "do")                ? "do"
                           : is_word(r.at, length, "while") && !ends_do ? "while"
                                                                        : NULL;
        if (name) {
            *VEC_PUSH(w->words, w->count, w->room) = (struct word){.name = name, .line = r.line};
            open = *name == 'd' ? w->count - 1 : SIZE_MAX;
        }
        if (*r.at == '{' && depth < DEPTH_MOST)
            of_do[depth] = behind_do;
        depth += *r.at == '{';
        ends_do = *r.at == '}' && depth && depth <= DEPTH_MOST && of_do[depth - 1];
        depth -= *r.at == '}' && depth;
        behind_do = name && *name == 'd';
        for (size_t i = 0; i < (length ? length : 1); i++)
            step(&r);
    }
}

static const struct word *word_for(const struct words *w, uint32_t line)
{
    const struct word *found = NULL;
    for (size_t i = 0; i < w->count && w->words[i].line <= line; i++) {
        if (w->words[i].line == line)
            return &w->words[i];
        if (w->words[i].body == line)
            found = &w->words[i];
    }
    return found;
}

static struct words *words_of(struct words **files, size_t *count, size_t *room, const char *path,
                              int64_t youngest)
{
    for (size_t i = *count; i-- > 0;)
        if (!strcmp((*files)[i].path, path))
            return &(*files)[i];
    struct words *w = VEC_PUSH(*files, *count, *room);
    char *text = read_text(path, youngest);
    w->path = path;
    if (text)
        find_words(w, text);
    free(text);
    return w;
}

void machine_name_loops(const struct tables *tables, const char *binary)
{
    struct stat st;
    struct words *files = NULL;
    size_t count = 0, room = 0;
    if (stat(binary, &st))
        return;
    for (size_t u = 0; u < tables->count; u++) {
        const struct unit *unit = &tables->units[u];
        for (size_t i = 0; i < unit->count; i++) {
            struct unit_node *n = &unit->nodes[i];
            if (n->kind != GRAPH_LOOP || !n->line)
                continue;
            const struct word *word = word_for(
                words_of(&files, &count, &room, unit->files[n->file], st.st_mtim.tv_sec), n->line);
            if (!word)
                continue;
            free(n->name);
            n->name = xstrdup(word->name);
            n->line = word->line;
        }
    }
    for (size_t i = 0; i < count; i++)
        free(files[i].words);
    free(files);
}
