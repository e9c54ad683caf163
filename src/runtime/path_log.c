/* SPDX-License-Identifier: MIT */
#include "runtime/path_log.h"

#include "runtime/hot.h"
#include "runtime/system_call.h"

#include <fcntl.h>
#include <sys/syscall.h>

enum { BUFFER = 1 << 16, LINE = 256, HEARD = 128, NAME = 256 };

bool path_log_on;
static char name[NAME], buffer[BUFFER + LINE + HEARD * 40];
static uint32_t used, heard_count;
static struct {
    int32_t rank;
    uint32_t generation, serial;
} heard[HEARD];

static void put_text(const char *text)
{
    while (*text)
        buffer[used++] = *text++;
}

static void put_number(int64_t value)
{
    char digits[20];
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    int count = 0;
    if (value < 0)
        buffer[used++] = '-';
    do
        digits[count++] = (char)('0' + rest % 10);
    while (rest /= 10);
    while (count)
        buffer[used++] = digits[--count];
}

static void put_id(int32_t rank, uint32_t generation, uint32_t serial)
{
    put_number(rank);
    put_text(":");
    put_number(generation);
    put_text(":");
    put_number(serial % PATH_LOG_SERIALS);
}

void path_log_open(const char *file, int32_t rank)
{
    uint32_t len = 0;
    while (file && file[len] && file[len] != ',' && file[len] != ' ' && len < NAME - 16) {
        name[len] = file[len];
        len++;
    }
    if (!len)
        return;
    used = 0;
    put_text(".");
    put_number(rank);
    for (uint32_t i = 0; i < used; i++)
        name[len++] = buffer[i];
    name[len] = '\0';
    used = 0;
    path_log_on = true;
}

/* No descriptor is kept. */
void path_log_flush(void)
{
    long fd =
        used ? system_call(SYS_open, (long)name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
             : -1;
    if (fd >= 0) {
        system_call(SYS_write, fd, (long)buffer, used);
        system_call(SYS_close, fd, 0, 0);
    }
    used = 0;
}

static bool is_logged(const struct thread *t)
{
    return t->block_index == 0;
}

/* What it takes is ours. */
static void end_line(struct thread *t, uint64_t began)
{
    put_text("\n");
    if (used >= BUFFER)
        path_log_flush();
    uint64_t ticks = clock_since(began, clock_now());
    int64_t cost = (int64_t)(ticks << RECORD_TIME_SHIFT);
    t->path->logged += ticks;
    event_spent(t, cost);
    t->measured += cost;
}

void path_log_line(struct thread *t, const char *word, int64_t a, int64_t b)
{
    if (!is_logged(t))
        return;
    uint64_t began = clock_now();
    put_text(word);
    put_text(" ");
    put_number(a);
    if (b != INT64_MIN) {
        put_text(" ");
        put_number(b);
    }
    end_line(t, began);
}

void path_log_lost(struct thread *t, int64_t ticks, int64_t last, int64_t since)
{
    if (!is_logged(t))
        return;
    uint64_t began = clock_now();
    put_text("lost ");
    put_number(ticks);
    put_text(" ");
    put_number(last);
    put_text(" ");
    put_number(since);
    end_line(t, began);
}

void path_log_send(struct thread *t, int64_t at, int32_t rank)
{
    if (!is_logged(t))
        return;
    uint64_t began = clock_now();
    put_text("send ");
    put_number(at);
    put_text(" ");
    put_id(rank, t->path->generation, t->path->published);
    end_line(t, began);
}

void path_log_heard(const struct thread *t, const struct path_told *other)
{
    if (!is_logged(t) || heard_count == HEARD)
        return;
    heard[heard_count].rank = other->rank;
    heard[heard_count].generation = other->generation;
    heard[heard_count++].serial = other->number;
}

void path_log_meet(struct thread *t, int64_t begin, uint64_t ticks, uint64_t sync)
{
    if (!is_logged(t) || (!heard_count && !sync))
        return;
    uint64_t began = clock_now();
    put_text("meet ");
    put_number(begin);
    put_text(" ");
    put_number(begin + (int64_t)ticks);
    put_text(" ");
    put_number((int64_t)sync);
    put_text(heard_count ? " " : " -");
    for (uint32_t i = 0; i < heard_count; i++) {
        put_text(i ? "," : "");
        put_id(heard[i].rank, heard[i].generation, heard[i].serial);
    }
    heard_count = 0;
    end_line(t, began);
}
