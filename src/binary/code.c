/* SPDX-License-Identifier: MIT */
/* A whole file: its procedures one after the other, and what follows from all of them. */
#include "binary/code.h"

#include "base/alloc.h"
#include "binary/code_inner.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_MOST = 2 << 20 }; /* instructions that are kept for a second look, 64 MiB */

/* Is there a way out, other than into what does not return? */
static bool has_way_out(const struct flow *flow, const struct code_body *body)
{
    if (flow->why)
        return true;
    for (size_t i = 0; i < body->point_count; i++) {
        const struct code_point *p = &body->points[i];
        if (p->kind != CODE_EXIT)
            continue;
        bool gone = p->callee != PART_NONE ? flow->file->never_returns[p->callee]
                                           : name_never_returns(p->callee_name);
        if (!gone)
            return true;
    }
    return false;
}

/* `known`: the instructions from before; NULL: it was not looked at yet. */
static void look_at(struct code_file *file, uint32_t part, const struct insn *known, size_t count)
{
    struct code_body *body = &file->bodies[part];
    struct flow flow = {.file = file, .part = part, .known = known, .known_count = count};
    body->looked_at = true;
    flow_follow(&flow);
    if (!flow.insn_count) {
        body->why = flow.why;
    } else {
        blocks_make(&flow);
        live_solve(&flow);
        points_make(&flow, body);
    }
    body->returns = has_way_out(&flow, body);
    if (file->kept_insns + flow.insn_count <= KEPT_MOST) {
        body->insns = flow.insns;
        body->insn_count = flow.insn_count;
        file->kept_insns += flow.insn_count;
        flow.insns = NULL;
    }
    flow_free(&flow);
}

/* Instructions that were found before are forgotten; what jumps marked stays. */
static void forget(struct code_file *file, uint32_t part)
{
    const struct code_part *p = &file->parts[part];
    uint8_t *map = file_map(file, p->start);
    for (uint64_t k = 0; map && k < p->end - p->start; k++)
        map[k] &= (uint8_t) ~(MAP_START | MAP_INSIDE | MAP_LEADER | MAP_WINDOW);
}

/* The same for all that belongs to it; its cold parts can be claimed again. */
static void forget_whole(struct code_file *file, uint32_t part)
{
    for (size_t i = 0; i < file->cold_count; i++)
        if (file->parts[file->cold[i]].owner == part) {
            forget(file, file->cold[i]);
            file->parts[file->cold[i]].owner = PART_NONE;
        }
    forget(file, part);
}

static void look_again(struct code_file *file, uint32_t part)
{
    struct code_body before = file->bodies[part];
    forget_whole(file, part);
    file->bodies[part] = (struct code_body){0};
    file->kept_insns -= before.insn_count;
    look_at(file, part, before.insns, before.insn_count);
    body_free(&before);
}

static bool is_procedure(const struct code_file *file, uint32_t part)
{
    const struct code_part *p = &file->parts[part];
    return p->owner == PART_NONE && !p->indirect_function && !p->signal && p->end > p->start;
}

/* Cold parts that nobody jumps into, as far as is known. */
static void look_at_unclaimed(struct code_file *file)
{
    for (uint32_t i = 0; i < file->part_count; i++)
        if (file->parts[i].cold && is_procedure(file, i) && !file->bodies[i].looked_at)
            look_at(file, i, NULL, 0);
}

static void forget_calls_of(struct code_file *file, const bool *callers)
{
    size_t kept = 0;
    for (size_t i = 0; i < file->call_count; i++)
        if (file->calls[i].caller == PART_NONE || !callers[file->calls[i].caller])
            file->calls[kept++] = file->calls[i];
    file->call_count = kept;
}

static uint32_t owner_of(const struct code_file *file, uint32_t part)
{
    uint32_t owner = file->parts[part].owner;
    return owner == PART_NONE ? part : owner;
}

/* What is known of a part that may be the cold part of a procedure. */
struct cold_sign {
    uint32_t from; /* who jumps to it; PART_NONE: nobody */
    uint32_t back; /* into the midst of which one it jumps; PART_NONE: none */
    bool several;  /* of either; or somebody calls it */
    bool entered;  /* some jump leads into its midst */
};

static void note(uint32_t *who, uint32_t part, bool *several)
{
    *several |= *who != PART_NONE && *who != part;
    *who = part;
}

static struct cold_sign *cold_signs(const struct code_file *file)
{
    struct cold_sign *signs = xcalloc(file->part_count, sizeof *signs);
    for (uint32_t i = 0; i < file->part_count; i++)
        signs[i] = (struct cold_sign){.from = PART_NONE, .back = PART_NONE};
    for (size_t i = 0; i < file->call_count; i++)
        signs[file->calls[i].callee].several |= !file->calls[i].tail;
    for (size_t i = 0; i < file->jump_count; i++) {
        const struct code_jump *j = &file->jumps[i];
        note(&signs[j->to].from, owner_of(file, j->from), &signs[j->to].several);
        signs[j->to].entered |= j->middle;
        if (j->middle)
            note(&signs[j->from].back, owner_of(file, j->to), &signs[j->from].several);
    }
    return signs;
}

/* A part without a name is a cold part of the procedure which alone jumps to it, if either leads
 * into the midst of the other: before there is a frame its unwind table does not tell. */
static bool seems_cold(const struct code_file *file, const struct cold_sign *signs, uint32_t part)
{
    const struct code_part *p = &file->parts[part];
    const struct cold_sign *s = &signs[part];
    const uint8_t *map = file_map(file, p->start);
    return p->nameless && !p->cold && !s->several && s->from != PART_NONE && s->from != part &&
           (s->back == s->from || (s->back == PART_NONE && s->entered)) && map &&
           !(*map & MAP_POINTED);
}

static void make_cold(struct code_file *file, uint32_t part)
{
    forget_whole(file, part);
    file->parts[part].cold = true;
    *VEC_PUSH(file->cold, file->cold_count, file->cold_room) = part;
    file->kept_insns -= file->bodies[part].insn_count;
    body_free(&file->bodies[part]);
    file->bodies[part] = (struct code_body){0};
}

static bool settle_cold_once(struct code_file *file)
{
    struct cold_sign *signs = cold_signs(file);
    bool *cold = xcalloc(file->part_count, sizeof *cold), some = false;
    bool *again = xcalloc(file->part_count, sizeof *again);
    for (uint32_t i = 0; i < file->part_count; i++) /* of two that seem so neither can be told */
        if (seems_cold(file, signs, i) && !seems_cold(file, signs, signs[i].from))
            cold[i] = again[i] = again[signs[i].from] = some = true;
    forget_calls_of(file, again);
    for (uint32_t i = 0; i < file->part_count; i++)
        if (cold[i])
            make_cold(file, i);
    for (uint32_t i = 0; i < file->part_count; i++)
        if (again[i] && !cold[i])
            look_again(file, i);
    look_at_unclaimed(file);
    free(signs);
    free(cold);
    free(again);
    return some;
}

/* What goes back by way of another cold part is known when that one is. */
static void settle_cold(struct code_file *file)
{
    enum { ROUNDS = 4 };
    for (int i = 0; i < ROUNDS && settle_cold_once(file); i++)
        ;
}

/* Callers of what turns out never to return end there; they may not return either then. */
static void settle_returns(struct code_file *file)
{
    bool *again = xcalloc(file->part_count, sizeof *again);
    for (int round = 0; round < 8; round++) {
        bool changed = false;
        for (uint32_t i = 0; i < file->part_count; i++) {
            const struct code_body *body = &file->bodies[i];
            if (body->looked_at && body->whole && !body->returns && !file->never_returns[i]) {
                file->never_returns[i] = true;
                again[i] = changed = true;
            }
        }
        if (!changed)
            break;
        bool *callers = xcalloc(file->part_count, sizeof *callers);
        for (size_t i = 0; i < file->call_count; i++)
            if (file->calls[i].caller != PART_NONE && again[file->calls[i].callee])
                callers[file->calls[i].caller] = true;
        forget_calls_of(file, callers);
        memset(again, 0, file->part_count * sizeof *again);
        for (uint32_t i = 0; i < file->part_count; i++)
            if (callers[i])
                look_again(file, i);
        free(callers);
    }
    free(again);
}

/* What a caller keeps in a register across a call is kept by all that the called one calls. */
static void settle_held(struct code_file *file)
{
    uint32_t *held = xcalloc(file->part_count, sizeof *held);
    for (size_t i = 0; i < file->call_count; i++)
        held[file->calls[i].callee] |= file->calls[i].held;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < file->call_count; i++) {
            const struct code_call *call = &file->calls[i];
            if (call->caller == PART_NONE || !(held[call->caller] & ~held[call->callee]))
                continue;
            held[call->callee] |= held[call->caller];
            changed = true;
        }
    }
    for (uint32_t i = 0; i < file->part_count; i++)
        for (size_t k = 0; k < file->bodies[i].point_count; k++)
            file->bodies[i].points[k].live |= held[i];
    free(held);
}

/* Does a byte in there have one of these marks? */
static bool marked(const struct code_file *file, uint64_t start, uint64_t end, uint8_t marks)
{
    const uint8_t *map = start < end ? file_map(file, start) : NULL;
    uint8_t all = 0;
    for (uint64_t k = 0; map && k < end - start; k++)
        all |= map[k];
    return all & marks;
}

/* An exit on the way to a return that can be come to in other ways. */
static bool passed_by(const struct code_file *file, const struct code_point *p)
{
    uint32_t part = p->kind == CODE_EXIT && p->target ? parts_find(file, p->target) : PART_NONE;
    return part != PART_NONE && file->parts[part].start != p->target &&
           marked(file, p->target, p->target + 1, MAP_POINTED | MAP_FOREIGN);
}

/* Branches that were seen after a window was chosen. */
static void check_windows(struct code_file *file)
{
    for (uint32_t i = 0; i < file->part_count; i++)
        for (size_t k = 0; k < file->bodies[i].point_count; k++) {
            struct code_point *p = &file->bodies[i].points[k];
            if (passed_by(file, p)) {
                p->way = CODE_NEVER;
                p->why = "its return is come to from elsewhere";
            } else if (p->way == CODE_JUMP &&
                       marked(file, p->window + 1, p->window + p->window_bytes,
                              MAP_TARGET | MAP_POINTED)) {
                p->way = CODE_OPEN;
                p->why = "a jump from elsewhere leads into the bytes there";
                p->window = p->address;
                p->window_bytes = 0;
            }
        }
}

static void look_at_all(struct code_file *file)
{
    file->bodies = xcalloc(file->part_count, sizeof *file->bodies);
    file->never_returns = xcalloc(file->part_count, sizeof *file->never_returns);
    for (uint32_t i = 0; i < file->part_count; i++)
        file->never_returns[i] = name_never_returns(file->parts[i].name);
    for (uint32_t i = 0; i < file->part_count; i++)
        if (file->parts[i].cold)
            *VEC_PUSH(file->cold, file->cold_count, file->cold_room) = i;
    for (uint32_t i = 0; i < file->part_count; i++)
        if (!file->parts[i].cold && is_procedure(file, i))
            look_at(file, i, NULL, 0);
    look_at_unclaimed(file);
    settle_cold(file);
    settle_returns(file);
    file_sweep(file);
    settle_held(file);
    check_windows(file);
    relays_find(file);
}

static int analyse(const char *path, bool lines, const char *debug_dir, const char *build_id,
                   struct code_image *image)
{
    struct code_file file = {0};
    int error = file_load(&file, path, debug_dir);
    if (!error) {
        frames_load(&file);
        imports_load(&file);
        parts_load(&file);
        pointers_mark(&file);
        look_at_all(&file);
        struct code_lines *table = lines ? lines_load(file.module.dwarf) : NULL;
        image_make(image, &file, table, build_id);
        lines_free(table);
    }
    file_free(&file);
    return error;
}

int code_open(const char *path, bool lines, struct code **code)
{
    return code_open_with(path, lines, DEBUG_DIRECTORY, code);
}

int code_open_with(const char *path, bool lines, const char *debug_dir, struct code **code)
{
    struct code_cache_key key;
    struct code_image image = {0};
    *code = NULL;
    if (access(path, R_OK))
        return -errno;
    bool keep = cache_key(&key, path, lines, debug_dir);
    if (keep && cache_read(&key, &image) && (*code = image_attach(&image))) {
        (*code)->cached = true;
        return 0;
    }
    image = (struct code_image){0};
    int error = analyse(path, lines, debug_dir, key.build_id, &image);
    if (error)
        return error;
    if (keep)
        cache_write(&key, &image);
    *code = image_attach(&image);
    return *code ? 0 : -ENOEXEC;
}

bool code_named(const struct code_function *f, const char *glob)
{
    if (!fnmatch(glob, f->name, 0) || !fnmatch(glob, f->pretty, 0))
        return true;
    for (const char *at = f->aliases; at && *at;) {
        size_t length = strcspn(at, "\n");
        char *name = xcalloc(length + 1, 1);
        memcpy(name, at, length);
        bool same = !fnmatch(glob, name, 0);
        free(name);
        if (same)
            return true;
        at += length + (at[length] == '\n');
    }
    return false;
}
