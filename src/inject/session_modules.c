/* SPDX-License-Identifier: MIT */
/* The files that a process has mapped, and their analyses, each made once. */
#include "inject/session_parts.h"

#include "base/alloc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_program(pid_t pid, const char *open)
{
    char exe[64];
    struct stat a, b;
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
    return stat(exe, &a) == 0 && stat(open, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static struct loaded *find(struct process *p, const struct target_module *m)
{
    for (size_t i = 0; i < p->loaded_count; i++) {
        struct loaded *l = p->loaded[i];
        if (!l->gone && l->bias == m->bias && l->start == m->start && strcmp(l->path, m->path) == 0)
            return l;
    }
    return NULL;
}

static void add(struct process *p, const struct target_module *m)
{
    struct loaded *l = find(p, m);
    if (!l) {
        l = xcalloc(1, sizeof *l);
        l->path = xstrdup(m->path);
        l->open = xstrdup(m->open);
        l->bias = m->bias;
        l->start = m->start;
        l->end = m->end;
        l->program = is_program(p->pid, l->open);
        *VEC_PUSH(p->loaded, p->loaded_count, p->loaded_room) = l;
    }
    l->seen = p->generation;
}

int process_modules(struct process *p)
{
    size_t count = 0;
    const struct target_module *modules = target_modules(p->target, &count);
    if (!modules)
        return target_lives(p->target) ? -EIO : -ESRCH;
    p->generation++;
    for (size_t i = 0; i < count; i++)
        add(p, &modules[i]);
    for (size_t i = 0; i < p->loaded_count; i++) {
        struct loaded *l = p->loaded[i];
        l->gone |= l->seen != p->generation;
        if (l->program && i > 0) { /* the first to be searched */
            memmove(p->loaded + 1, p->loaded, i * sizeof *p->loaded);
            p->loaded[0] = l;
        }
    }
    return 0;
}

static char *file_name(const struct process *p, const struct loaded *l)
{
    return xasprintf("%d %llx %llx %s", (int)p->pid, (unsigned long long)l->start,
                     (unsigned long long)l->bias, l->path);
}

static const struct session_file *find_file(const struct session_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->list[i].name, name) == 0)
            return &files->list[i];
    return NULL;
}

/* The same mapping as before, not another one of the same file at the same place. */
static bool is_past(struct process *p, const struct loaded *l, const struct session_files *files)
{
    char *name = file_name(p, l);
    const struct session_file *f = find_file(files, name);
    uint8_t now[sizeof f->inserted];
    bool past = f && (!f->bytes || (target_read(p->target, f->window, now, f->bytes) == 0 &&
                                    memcmp(now, f->inserted, f->bytes) == 0));
    free(name);
    return past;
}

size_t session_since(struct session *s, const struct session_files *files)
{
    size_t new = 0;
    s->later = files->count > 0;
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; k < s->processes[i].loaded_count; k++) {
            struct loaded *l = s->processes[i].loaded[k];
            l->past = is_past(&s->processes[i], l, files);
            new += !l->gone && !l->past;
        }
    return new;
}

static void note_window(const struct process *p, const struct loaded *l, struct session_file *f)
{
    for (size_t i = 0; i < p->site_count && !f->bytes; i++) {
        const struct place *at = &p->sites[i]->at;
        if (p->sites[i]->loaded != l)
            continue;
        f->window = at->window;
        f->bytes = at->bytes;
        memcpy(f->inserted, at->inserted, sizeof f->inserted);
    }
}

void session_note(const struct session *s, struct session_files *files)
{
    struct session_files now = {0};
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; k < s->processes[i].loaded_count; k++) {
            const struct loaded *l = s->processes[i].loaded[k];
            if (l->gone)
                continue;
            char *name = file_name(&s->processes[i], l);
            const struct session_file *before = l->past ? find_file(files, name) : NULL;
            struct session_file f = before ? *before : (struct session_file){0};
            f.name = name;
            note_window(&s->processes[i], l, &f);
            *VEC_PUSH(now.list, now.count, now.room) = f;
        }
    session_files_free(files);
    *files = now;
}

void session_files_free(struct session_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->list[i].name);
    free(files->list);
    *files = (struct session_files){0};
}

/* The note with which Go marks what it makes. */
static bool is_go(int fd, const Elf64_Phdr *notes)
{
    struct {
        uint32_t name_bytes, bytes, type;
        char name[4];
    } note;
    uint64_t end = notes->p_offset + notes->p_filesz;
    for (uint64_t at = notes->p_offset; at + sizeof note <= end;) {
        if (pread(fd, &note, sizeof note, (off_t)at) != (ssize_t)sizeof note)
            return false;
        if (note.name_bytes == 4 && memcmp(note.name, "Go\0", 4) == 0)
            return true;
        at += 12 + (((uint64_t)note.name_bytes + 3) & ~3ull) + (((uint64_t)note.bytes + 3) & ~3ull);
    }
    return false;
}

/* Which of the file's bytes are at which address. */
static void read_segments(struct analysis *a)
{
    Elf64_Ehdr header;
    if (pread(a->fd, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        return;
    size_t room = 0;
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr ph;
        off_t at = (off_t)(header.e_phoff + (uint64_t)i * sizeof ph);
        if (pread(a->fd, &ph, sizeof ph, at) != sizeof ph)
            return;
        a->threads |= ph.p_type == PT_TLS || ph.p_type == PT_INTERP;
        if (ph.p_type == PT_NOTE && is_go(a->fd, &ph))
            a->why =
                "it is Go, whose goroutines may be suspended anywhere in code that would change";
        if (ph.p_type == PT_LOAD)
            *VEC_PUSH(a->segments, a->segment_count, room) =
                (struct analysis_segment){ph.p_vaddr, ph.p_offset, ph.p_filesz};
    }
}

bool loaded_bytes(const struct loaded *l, uint64_t address, void *into, size_t bytes)
{
    const struct analysis *a = l->analysis;
    for (size_t i = 0; a && i < a->segment_count; i++) {
        const struct analysis_segment *s = &a->segments[i];
        if (address < s->address || address + bytes > s->address + s->bytes)
            continue;
        off_t at = (off_t)(s->offset + (address - s->address));
        return pread(a->fd, into, bytes, at) == (ssize_t)bytes;
    }
    return false;
}

static struct analysis *analysis_of(struct session *s, struct loaded *l)
{
    struct stat st;
    int fd = open(l->open, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        for (size_t i = 0; i < s->analysis_count; i++) {
            struct analysis *a = s->analyses[i];
            if (a->device == st.st_dev && a->inode == st.st_ino) {
                close(fd);
                return a;
            }
        }
    }
    struct analysis *a = xcalloc(1, sizeof *a);
    a->path = xstrdup(l->open);
    a->fd = fd;
    if (fd < 0) {
        a->error = -errno;
    } else {
        a->device = st.st_dev;
        a->inode = st.st_ino;
        read_segments(a);
    }
    *VEC_PUSH(s->analyses, s->analysis_count, s->analysis_room) = a;
    return a;
}

struct analysis *session_analysis(struct session *s, struct loaded *l)
{
    if (!l->analysis)
        l->analysis = analysis_of(s, l);
    return l->analysis;
}

const struct code *session_code(struct session *s, struct loaded *l, bool lines)
{
    struct analysis *a = session_analysis(s, l);
    if (a->error || (a->code && (a->lines || !lines)))
        return a->code;
    struct code *code = NULL;
    int err = code_open(a->path, lines, &code);
    if (err < 0) {
        /* What was found without lines remains good. */
        a->error = a->code ? 0 : err;
        a->lines |= lines;
        return a->code;
    }
    a->plain = a->code; /* insertions point into it */
    a->code = code;
    a->lines = lines;
    return code;
}

void session_free_analyses(struct session *s)
{
    for (size_t i = 0; i < s->analysis_count; i++) {
        struct analysis *a = s->analyses[i];
        code_close(a->code);
        code_close(a->plain);
        if (a->fd >= 0)
            close(a->fd);
        slots_free(a);
        free(a->segments);
        free(a->path);
        free(a);
    }
    free(s->analyses);
}
