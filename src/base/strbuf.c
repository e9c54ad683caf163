/* SPDX-License-Identifier: MIT */
#include "base/strbuf.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80 };

void strbuf_reserve(struct strbuf *b, size_t more)
{
    if (b->len + more + 1 <= b->room)
        return;
    size_t room = b->room ? b->room : 64;
    while (room < b->len + more + 1)
        room *= 2;
    b->text = xrealloc(b->text, room, 1);
    b->room = room;
}

void strbuf_add(struct strbuf *b, const char *text, size_t len)
{
    strbuf_reserve(b, len);
    memcpy(b->text + b->len, text, len);
    b->len += len;
    b->text[b->len] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *text)
{
    strbuf_add(b, text, strlen(text));
}

void strbuf_putc(struct strbuf *b, char c)
{
    strbuf_add(b, &c, 1);
}

void strbuf_vprintf(struct strbuf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0)
        return;
    strbuf_reserve(b, (size_t)len);
    vsnprintf(b->text + b->len, (size_t)len + 1, format, args);
    b->len += (size_t)len;
}

void strbuf_printf(struct strbuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strbuf_vprintf(b, format, args);
    va_end(args);
}

void strbuf_words(struct strbuf *b, const char *text, int indent)
{
    size_t line = b->len;
    while (line && b->text[line - 1] != '\n')
        line--;
    for (bool first = true; *(text += strspn(text, " \n")); first = false) {
        size_t len = strcspn(text, " \n");
        if (!first && b->len + 1 + len - line > WIDTH) {
            strbuf_putc(b, '\n');
            line = b->len;
            strbuf_printf(b, "%*s", indent, "");
        } else if (!first) {
            strbuf_putc(b, ' ');
        }
        strbuf_add(b, text, len);
        text += len;
    }
    strbuf_putc(b, '\n');
}

void strbuf_clear(struct strbuf *b)
{
    b->len = 0;
    if (b->text)
        b->text[0] = '\0';
}

void strbuf_free(struct strbuf *b)
{
    free(b->text);
    *b = (struct strbuf){0};
}

char *strbuf_take(struct strbuf *b)
{
    char *text = b->text ? b->text : xstrdup("");
    *b = (struct strbuf){0};
    return text;
}
