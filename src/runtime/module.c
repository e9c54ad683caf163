/* SPDX-License-Identifier: MIT */
/* Loaded objects that contain statements. Looked up on the first visit of a statement, and again
 * after code was unloaded. */
#include "record/plan.h"
#include "runtime/process.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum { MODULES_MAX = 512 }; /* beyond: statements keep their bare address */

struct known {
    uintptr_t start, end, bias;
    uint32_t build_id_len;
    uint8_t build_id[32];
    uint64_t hash; /* in keys of the plan */
};

static struct known known[MODULES_MAX];
static uint32_t known_count, lock;
static struct record_cursor cursor;

struct search {
    uintptr_t address;
    bool found, main_program;
    struct known is;
    const char *path;
};

static void read_build_id(struct search *s, const struct dl_phdr_info *info, const ElfW(Phdr) * ph)
{
    const char *at = (const char *)(info->dlpi_addr + ph->p_vaddr), *end = at + ph->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const char *name = at + sizeof note, *desc = name + ((note.n_namesz + 3) & ~3u);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4) &&
            note.n_descsz <= sizeof s->is.build_id && desc + note.n_descsz <= end) {
            memcpy(s->is.build_id, desc, note.n_descsz);
            s->is.build_id_len = note.n_descsz;
            return;
        }
        at = desc + ((note.n_descsz + 3) & ~3u);
    }
}

/* A note that is in no loaded segment is in the file only. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * note)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_LOAD && ph->p_flags & PF_R && note->p_vaddr >= ph->p_vaddr &&
            note->p_vaddr + note->p_memsz <= ph->p_vaddr + ph->p_memsz)
            return true;
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *s = data;
    uintptr_t start = UINTPTR_MAX, end = 0;
    bool inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD)
            continue;
        uintptr_t from = info->dlpi_addr + ph->p_vaddr, to = from + ph->p_memsz;
        inside |= s->address >= from && s->address < to;
        start = from < start ? from : start;
        end = to > end ? to : end;
    }
    if (!inside) {
        s->main_program = false; /* the program itself comes first */
        return 0;
    }
    s->found = true;
    s->is.start = start;
    s->is.end = end;
    s->is.bias = info->dlpi_addr;
    s->path = info->dlpi_name;
    for (int i = 0; i < info->dlpi_phnum && !s->is.build_id_len; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE && is_loaded(info, &info->dlpi_phdr[i]))
            read_build_id(s, info, &info->dlpi_phdr[i]);
    return 1;
}

static bool same(const struct known *a, const struct known *b)
{
    return a->start == b->start && a->end == b->end && a->build_id_len == b->build_id_len &&
           !memcmp(a->build_id, b->build_id, a->build_id_len);
}

static uint32_t add(const struct search *s)
{
    struct record_module *m = NULL;
    if (known_count < MODULES_MAX)
        m = record_cursor_next(&loupe_process.writer, &cursor, RECORD_KIND_MODULES, 0, sizeof *m);
    if (!m)
        return RECORD_NO_MODULE;
    m->base = s->is.bias;
    m->start = s->is.start;
    m->end = s->is.end;
    m->build_id_len = s->is.build_id_len;
    memcpy(m->build_id, s->is.build_id, s->is.build_id_len);
    if (s->main_program || !s->path || !*s->path) {
        ssize_t len = readlink("/proc/self/exe", m->path, sizeof m->path);
        m->path_len = len > 0 ? (uint32_t)len : 0;
    } else {
        size_t len = strlen(s->path);
        m->path_len = (uint32_t)(len < sizeof m->path ? len : sizeof m->path);
        memcpy(m->path, s->path, m->path_len);
    }
    known[known_count] = s->is;
    known[known_count].hash = plan_module(m);
    record_cursor_publish(&cursor);
    return known_count++;
}

uint32_t module_at(uintptr_t address, uintptr_t *bias)
{
    struct search s = {.address = address, .main_program = true};
    *bias = 0;
    dl_iterate_phdr(visit, &s);
    if (!s.found)
        return RECORD_NO_MODULE;
    uint64_t mask = slow_lock_signals(&lock);
    uint32_t index = 0;
    while (index < known_count && !same(&known[index], &s.is))
        index++;
    if (index == known_count)
        index = add(&s);
    slow_unlock_signals(&lock, mask);
    if (index != RECORD_NO_MODULE)
        *bias = s.is.bias;
    return index;
}

uint64_t module_hash(uint32_t index)
{
    return index < known_count ? known[index].hash : 0;
}

void module_leave_all(void)
{
    uint64_t mask = slow_lock_signals(&lock);
    known_count = 0;
    cursor = (struct record_cursor){0};
    slow_unlock_signals(&lock, mask);
}

void module_forget_all(void)
{
    known_count = 0;
    cursor = (struct record_cursor){0};
    lock = 0;
}
