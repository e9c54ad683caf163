/* SPDX-License-Identifier: MIT */
/* Source lines by address, from all line tables of a file. */
#include "base/alloc.h"
#include "base/map.h"
#include "base/path.h"
#include "binary/code_inner.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

struct code_lines {
    struct code_line *lines; /* sorted; line 0: nothing known from here on */
    size_t count, room;
    char **files; /* each path once */
    size_t file_count, file_room;
    struct map by_path;
};

static bool same(const void *key, uint32_t value, const void *data)
{
    return !strcmp(key, ((const struct code_lines *)data)->files[value]);
}

static const char *intern(struct code_lines *l, const char *path, const char *directory)
{
    char *full = path_full(path, directory);
    uint64_t hash = map_hash(MAP_SEED, full, strlen(full));
    uint32_t known = map_find(&l->by_path, hash, same, full, l);
    if (known != MAP_NONE) {
        free(full);
        return l->files[known];
    }
    map_add(&l->by_path, hash, (uint32_t)l->file_count);
    *VEC_PUSH(l->files, l->file_count, l->file_room) = full;
    return full;
}

static void load_unit(struct code_lines *l, Dwarf_Die *unit)
{
    Dwarf_Lines *lines;
    Dwarf_Attribute attribute;
    size_t count;
    const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    const char *last = NULL, *file = NULL;
    if (dwarf_getsrclines(unit, &lines, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr address;
        int number = 0;
        bool end = false;
        const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
        if (!line || dwarf_lineaddr(line, &address) || dwarf_lineno(line, &number) ||
            dwarf_lineendsequence(line, &end))
            continue;
        if (path != last) {
            file = path ? intern(l, path, directory) : NULL;
            last = path;
        }
        uint32_t order = (uint32_t)l->count;
        *VEC_PUSH(l->lines, l->count, l->room) =
            (struct code_line){.address = address,
                               .file = end ? NULL : file,
                               .line = end ? 0 : (uint32_t)number,
                               .order = order};
    }
}

/* At one address the end of a sequence comes before what begins there. */
static int compare(const void *pa, const void *pb)
{
    const struct code_line *a = pa, *b = pb;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (!a->file != !b->file)
        return a->file ? 1 : -1;
    return a->order < b->order ? -1 : a->order > b->order;
}

struct code_lines *lines_load(Dwarf *dwarf)
{
    struct code_lines *l = xcalloc(1, sizeof *l);
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    while (dwarf && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
        load_unit(l, &unit);
    if (l->count)
        qsort(l->lines, l->count, sizeof *l->lines, compare);
    return l;
}

const struct code_line *lines_at(const struct code_lines *l, uint64_t address)
{
    size_t low = 0, high = l ? l->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (l->lines[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && l->lines[low - 1].file ? &l->lines[low - 1] : NULL;
}

const struct code_line *lines_after(const struct code_lines *l, const struct code_line *line)
{
    return line + 1 < l->lines + l->count ? line + 1 : NULL;
}

void lines_free(struct code_lines *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->file_count; i++)
        free(l->files[i]);
    free(l->files);
    map_free(&l->by_path);
    free(l->lines);
    free(l);
}
