/* SPDX-License-Identifier: MIT */
/* A growing string. Out of memory ends the tool (never used inside the target). */
#ifndef LOUPE_BASE_STRBUF_H
#define LOUPE_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct strbuf {
    char *text; /* always a C string once something was added; NULL when empty and new */
    size_t len, room;
};

void strbuf_add(struct strbuf *b, const char *text, size_t len);
void strbuf_reserve(struct strbuf *b, size_t bytes);
/* Room for so many bytes at the end, to be written to; then: it goes up to `end` now. */
static inline char *strbuf_room(struct strbuf *b, size_t bytes)
{
    if (b->len + bytes >= b->room)
        strbuf_reserve(b, bytes);
    return b->text + b->len;
}

static inline void strbuf_grown(struct strbuf *b, char *end)
{
    *end = '\0';
    b->len = (size_t)(end - b->text);
}

void strbuf_puts(struct strbuf *b, const char *text);
void strbuf_putc(struct strbuf *b, char c);
void strbuf_printf(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *b, const char *format, va_list args)
    __attribute__((format(printf, 2, 0), nonnull(2)));
/* The words of a text in lines that fit 80 columns, the first of which has begun already; the
 * others begin at `indent`. Ends with a line end. */
void strbuf_words(struct strbuf *b, const char *text, int indent);
void strbuf_clear(struct strbuf *b);
void strbuf_free(struct strbuf *b);
/* The text, owned by the caller; the buffer is empty afterwards. Never NULL. */
char *strbuf_take(struct strbuf *b);

#endif
