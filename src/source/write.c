/* SPDX-License-Identifier: MIT */
/* The instrumented files. */
#include "source/write.h"
#include "base/alloc.h"
#include "base/strbuf.h"
#include "source/edits.h"
#include "source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int make_directories(char *path)
{
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        int failed = mkdir(path, 0777) && errno != EEXIST;
        *slash = '/';
        if (failed)
            return -errno;
    }
    return 0;
}

int write_file(const char *path, const char *text, size_t length)
{
    char *copy = xstrdup(path);
    int error = make_directories(copy);
    free(copy);
    if (error)
        return error;
    FILE *file = fopen(path, "w");
    if (!file)
        return -errno;
    bool whole = fwrite(text, 1, length, file) == length;
    return fclose(file) || !whole ? -EIO : 0;
}

/* The text as it was, with the insertions; its lines have their old numbers. */
static void instrument(const struct text *text, struct strbuf *out)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which only the first line may have */
    uint32_t at = text->length >= 3 && !memcmp(text->bytes, mark, 3) ? 3 : 0;
    strbuf_puts(out, "#line 1 \"");
    for (const char *c = text->name; *c; c++) {
        if (*c == '"' || *c == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, *c);
    }
    strbuf_puts(out, "\"\n");
    for (size_t i = 0; i < text->insertion_count; i++) {
        const struct insertion *in = &text->insertions[i];
        strbuf_add(out, text->bytes + at, in->offset - at);
        strbuf_puts(out, in->text);
        at = in->offset;
    }
    strbuf_add(out, text->bytes + at, text->length - at);
}

struct inclusion {
    struct text *includer, *included;
};

struct inclusions {
    struct source *source;
    struct inclusion *all;
    size_t count, room;
};

static void note_inclusion(CXFile included, CXSourceLocation *stack, unsigned depth,
                           CXClientData data)
{
    struct inclusions *list = data;
    CXFile file = NULL;
    if (depth)
        clang_getExpansionLocation(stack[0], &file, NULL, NULL, NULL);
    struct text *includer = source_text(list->source, file);
    struct text *text = includer && !includer->system ? source_text(list->source, included) : NULL;
    if (text && !text->system)
        *VEC_PUSH(list->all, list->count, list->room) = (struct inclusion){includer, text};
}

static bool in_tree(const struct text *text)
{
    return text->copied || text->insertion_count;
}

/* A header that is changed is found beside the files that include it only if these stand in the
 * tree as well; and a header there finds beside it only what stands in the tree. What the source
 * itself includes is looked for beside the original too. */
static void complete_tree(struct source *source, const struct text *main_text)
{
    struct inclusions list = {.source = source};
    clang_getInclusions(source->unit, note_inclusion, &list);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < list.count; i++) {
            struct text *from = list.all[i].includer, *to = list.all[i].included;
            bool up = in_tree(to) && !in_tree(from);
            bool down = in_tree(from) && from != main_text && !in_tree(to);
            from->copied = from->copied || up;
            to->copied = to->copied || down;
            more = more || up || down;
        }
    }
    free(list.all);
}

int source_write(struct source *source)
{
    struct strbuf list = {0};
    int error = 0;
    CXFile main_file = clang_getFile(source->unit, source->name);
    struct text *main_text = main_file ? source_text(source, main_file) : NULL;
    if (!main_text)
        return -ENOENT;
    main_text->copied = true;
    complete_tree(source, main_text);
    for (size_t i = 0; i < source->text_count && !error; i++) {
        struct text *text = source->texts[i];
        if (!in_tree(text))
            continue;
        struct strbuf out = {0};
        edits_sort(text);
        instrument(text, &out);
        char *path = xasprintf("%s/tree%s", source->output, text->path);
        error = write_file(path, out.text, out.len);
        strbuf_printf(&list, "%s\t%s\n", text->path, text->name);
        free(path);
        strbuf_free(&out);
    }
    char *path = xasprintf("%s/files", source->output);
    if (!error)
        error = write_file(path, list.text, list.len);
    free(path);
    strbuf_free(&list);
    return error;
}
