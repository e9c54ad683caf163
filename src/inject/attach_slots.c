/* SPDX-License-Identifier: MIT */
/* Import slots: which files have some, where they are in a process, and what stood there before us.
 */
#include "inject/attach_parts.h"

#include "base/alloc.h"
#include "base/path.h"
#include "binary/dynamic.h"
#include "inject/arch/x86_64/loader.h"
#include "inject/target_parts.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- files ---- */

static bool same_name(const void *key, uint32_t value, const void *data)
{
    const struct files *f = data;
    return strcmp(key, f->symbols[value].name) == 0;
}

static uint32_t find_symbol(const struct files *f, const char *name)
{
    return map_find(&f->names, map_hash(MAP_SEED, name, strlen(name)), same_name, name, f);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What any thread may call at any time, where MPI itself must not be asked anything. `name` is
 * without the prefix; it may go on as Fortran's do. */
static bool any_time(const char *name)
{
    static const char *const names[] = {"Init",        "Final",           "Abort",
                                        "Wti",         "Query_thread",    "Is_thread_main",
                                        "Get_version", "Get_library_ver", "Get_processor",
                                        "Get_address", "Aint_",           "Pcontrol",
                                        "T_",          "Session_",        "Error_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncasecmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Of MPI and its Fortran bindings; and what tells the runtime that code goes away, or the process,
 * and that a thread comes. */
static bool wanted(const char *name, bool *at_last)
{
    bool life = !strcmp(name, "_exit") || !strcmp(name, "_Exit") || !strcmp(name, "dlclose") ||
                !strcmp(name, "pthread_create") || !strcmp(name, "thrd_create");
    const char *bare = *name == 'P' || *name == 'p' ? name + 1 : name;
    bool mpi = begins(bare, "MPI_") || begins(bare, "mpi_");
    *at_last = life || (mpi && any_time(bare + 4));
    return life || mpi;
}

static void add_symbol(void *data, const char *name, uint64_t address)
{
    struct files *f = data;
    bool at_last;
    if (!strcmp(name, ATTACH_BLOCK))
        f->attached = address;
    if (!strcmp(name, "loupe_dynamic"))
        f->dynamic = address;
    if (!wanted(name, &at_last) || find_symbol(f, name) != MAP_NONE)
        return;
    map_add(&f->names, map_hash(MAP_SEED, name, strlen(name)), (uint32_t)f->symbol_count);
    *VEC_PUSH(f->symbols, f->symbol_count, f->symbol_room) =
        (struct symbol){xstrdup(name), address, at_last};
}

int files_open(struct files *f, const char *library)
{
    struct stat st;
    if (stat(library, &st) < 0)
        return -errno;
    f->device = st.st_dev;
    f->inode = st.st_ino;
    int err = dynamic_exports(library, add_symbol, f);
    return err ? err : f->attached && f->dynamic && f->symbol_count ? 0 : -ENOEXEC;
}

void files_free(struct files *f)
{
    for (size_t i = 0; i < f->symbol_count; i++)
        free(f->symbols[i].name);
    for (size_t i = 0; i < f->count; i++) {
        free(f->list[i]->imports);
        free(f->list[i]);
    }
    free(f->symbols);
    free(f->list);
    map_free(&f->names);
}

struct visit {
    struct files *files;
    struct file *file;
    bool libc;
};

static void see_import(void *data, const char *name, uint64_t address)
{
    struct visit *v = data;
    uint32_t symbol = find_symbol(v->files, name);
    if (symbol != MAP_NONE && address % sizeof(uint64_t) == 0)
        *VEC_PUSH(v->file->imports, v->file->import_count, v->file->import_room) =
            (struct import){address, symbol};
}

static void see_export(void *data, const char *name, uint64_t address)
{
    struct visit *v = data;
    struct file *f = v->file;
    f->mpi |= !strcmp(name, "PMPI_Init");
    f->other |= !strcmp(name, "loupe_control");
    if (v->libc && !strcmp(name, "dlopen"))
        f->open = address;
    if (v->libc && !strcmp(name, "dlsym"))
        f->symbol = address;
    if (v->libc && !strcmp(name, "dlerror"))
        f->error_text = address;
}

static struct file *look_at(struct files *files, const char *open, const char *path)
{
    struct stat st;
    if (stat(open, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    for (size_t i = 0; i < files->count; i++)
        if (files->list[i]->device == st.st_dev && files->list[i]->inode == st.st_ino)
            return files->list[i];
    struct file *f = xcalloc(1, sizeof *f);
    const char *base = path_base(path);
    struct visit v = {files, f, begins(base, "libc.so") || begins(base, "libdl.so")};
    f->device = st.st_dev;
    f->inode = st.st_ino;
    f->ours = st.st_dev == files->device && st.st_ino == files->inode;
    if (!f->ours) {
        dynamic_exports(open, see_export, &v);
        f->mpi &= !f->other; /* ours defines MPI's names, too */
        if (!f->mpi && !f->other && !v.libc)
            dynamic_imports(open, see_import, &v);
    }
    *VEC_PUSH(files->list, files->count, files->room) = f;
    return f;
}

/* ---- what stood in a slot that leads to us ---- */

static uint64_t find_original(struct process *p, uint64_t block, uint64_t address)
{
    struct attach_block b;
    struct attach_slot s;
    if (!block || target_read(p->target, block, &b, sizeof b) || b.magic != ATTACH_MAGIC ||
        b.version != ATTACH_VERSION || b.slot_count > 1 << 20)
        return 0;
    for (uint32_t i = 0; i < b.slot_count; i++) {
        uint64_t at = block + offsetof(struct attach_block, slots) + i * sizeof s;
        if (target_read(p->target, at, &s, sizeof s))
            return 0;
        if (s.address == address)
            return s.original;
    }
    return 0;
}

/* A loupe that was killed has left it so, before or after the library was loaded. */
static uint64_t original_of(const struct files *f, struct process *p, const struct slot *slot)
{
    const struct map_entry *e = maps_at(&p->target->maps, slot->seen);
    uint64_t block = 0;
    struct loader_head head;
    if (p->ours && slot->seen >= p->ours && slot->seen < p->ours_end)
        target_read(p->target, p->ours + f->attached, &block, sizeof block);
    else if (!e || !begins(maps_path(&p->target->maps, e), "/memfd:loupe"))
        return slot->seen;
    else if (!target_read(p->target, e->start, &head, sizeof head) && head.magic == LOADER_MAGIC)
        block = head.block;
    return find_original(p, block, slot->address);
}

/* ---- processes ---- */

static void add_slot(const struct files *f, struct process *p, uint64_t address, uint32_t symbol)
{
    struct slot *s = p->slots;
    uint64_t seen;
    while (s < p->slots + p->slot_count && s->address != address)
        s++;
    if (target_read(p->target, address, &seen, sizeof seen) || !seen)
        return; /* what no library has stays so */
    if (s < p->slots + p->slot_count) {
        s->seen = seen;
        return;
    }
    struct slot new = {.address = address, .seen = seen, .symbol = symbol};
    new.original = original_of(f, p, &new);
    if (new.original)
        *VEC_PUSH(p->slots, p->slot_count, p->slot_room) = new;
}

static bool is_program(pid_t pid, const struct file *file)
{
    char exe[64];
    struct stat st;
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
    return stat(exe, &st) == 0 && file->device == st.st_dev && file->inode == st.st_ino;
}

static void see_module(struct files *f, struct process *p, const struct target_module *m)
{
    struct file *file = look_at(f, m->open, m->path);
    if (!file)
        return;
    if (file->ours) {
        p->ours = m->bias;
        p->ours_end = m->end;
    }
    p->other |= file->other;
    p->mpi |= file->mpi;
    p->mpi_static |= file->mpi && is_program(p->pid, file);
    if (file->open)
        p->open = m->bias + file->open;
    if (file->symbol)
        p->symbol = m->bias + file->symbol;
    if (file->error_text)
        p->error_text = m->bias + file->error_text;
}

int process_look(struct files *f, struct process *p)
{
    size_t count = 0;
    const struct target_module *modules = target_modules(p->target, &count);
    if (!modules)
        return target_lives(p->target) ? -EIO : -ESRCH;
    for (size_t i = 0; i < count; i++)
        see_module(f, p, &modules[i]);
    for (size_t i = 0; i < count; i++) {
        const struct file *file = look_at(f, modules[i].open, modules[i].path);
        for (size_t k = 0; file && k < file->import_count; k++)
            add_slot(f, p, modules[i].bias + file->imports[k].address, file->imports[k].symbol);
    }
    return 0;
}

uint64_t process_mapped(const struct process *p)
{
    char path[64], line[4400];
    uint64_t hash = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)p->pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, " r-xp ") && strchr(line, '/'))
            hash = map_hash(hash ? hash : MAP_SEED, line, strlen(line));
    if (maps)
        fclose(maps);
    return hash;
}

void process_kind(struct files *f, struct process *p)
{
    uint64_t block = 0;
    if (p->ours)
        target_read(p->target, p->ours + f->attached, &block, sizeof block);
    p->mpi_static |= !p->mpi && process_linked(p->pid);
    p->kind = p->other                  ? ATTACH_FOREIGN
              : p->ours && !block       ? ATTACH_PRELOADED
              : p->mpi_static           ? ATTACH_STATIC
              : p->mpi && p->slot_count ? ATTACH_POSSIBLE
                                        : ATTACH_NO_MPI;
}

/* ---- looking for those that have MPI ---- */

static void see_init(void *data, const char *name, uint64_t address)
{
    (void)address;
    *(bool *)data |= !strcmp(name, "PMPI_Init");
}

bool process_linked(pid_t pid)
{
    char path[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    dynamic_definitions(path, see_init, &found);
    return found;
}

bool attach_has_mpi(pid_t pid)
{
    char path[64], line[4400], open[4500];
    char before[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        char *file = strchr(line, '/'), *end = strchr(line, '\n');
        if (!file || !end || !strstr(line, " r-x"))
            continue;
        *end = 0;
        if (strcmp(file, before) == 0)
            continue;
        snprintf(before, sizeof before, "%.4095s", file);
        snprintf(open, sizeof open, "/proc/%d/root%s", (int)pid, file);
        dynamic_exports(open, see_init, &found);
    }
    if (maps)
        fclose(maps);
    return found || process_linked(pid);
}

static int maps_refused(pid_t pid, struct target_error *why)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return target_refused(pid, -errno, why);
    fclose(maps);
    return 0;
}

int attach_forbidden(pid_t pid, struct attach_error *error)
{
    struct target_error why = {{0}};
    int err = target_check(pid, &why);
    if (!err)
        err = maps_refused(pid, &why);
    snprintf(error->message, sizeof error->message, "%s", why.message);
    return err;
}

int attach_unseen(pid_t pid, struct attach_error *error)
{
    struct target_error why = {{0}};
    int err = target_check(pid, &why);
    if (err != -ENOTSUP) /* a program for another machine: its libraries are not read */
        err = maps_refused(pid, &why);
    if (err == -ESRCH)
        return 0;
    if (err)
        snprintf(error->message, sizeof error->message, "%s", why.message);
    return err;
}
