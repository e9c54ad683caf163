/* SPDX-License-Identifier: MIT */
/* How wide text is, and cutting it: by characters, never by bytes. */
#include "view/table.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* Length of the sequence at s and its code point; 0 if it is not UTF-8. */
static int decode(const unsigned char *s, uint32_t *point)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    int len = s[0] < 0x80             ? 1
              : (s[0] & 0xe0) == 0xc0 ? 2
              : (s[0] & 0xf0) == 0xe0 ? 3
              : (s[0] & 0xf8) == 0xf0 ? 4
                                      : 0;
    if (len < 2) {
        *point = s[0];
        return len;
    }
    uint32_t value = s[0] & (0x7fu >> len);
    for (int i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (s[i] & 0x3f);
    }
    *point = value;
    return value < least[len] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff) ? 0 : len;
}

static bool within(uint32_t point, const uint32_t (*ranges)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i][0] && point <= ranges[i][1])
            return true;
    return false;
}

/* Not wcwidth: it depends on the locale, and a report must not. */
static int columns_of(uint32_t point)
{
    static const uint32_t none[][2] = {
        {0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
    static const uint32_t wide[][2] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                       {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
    if (within(point, none, sizeof none / sizeof *none))
        return 0;
    return within(point, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

/* The next character: its bytes and columns; what must not reach a terminal has printable 0. */
static int step(const char *text, int *columns, bool *printable)
{
    uint32_t point;
    int len = decode((const unsigned char *)text, &point);
    /* C1 controls, and the marks that turn the direction of text around */
    *printable = len && point >= 0x20 && !(point >= 0x7f && point < 0xa0) &&
                 !(point >= 0x202a && point <= 0x202e) && !(point >= 0x2066 && point <= 0x2069);
    *columns = *printable ? columns_of(point) : 1;
    return len ? len : 1;
}

int table_width(const char *text)
{
    int width = 0, columns;
    bool printable;
    while (*text) {
        text += step(text, &columns, &printable);
        width += columns;
    }
    return width;
}

int table_text(struct strbuf *out, const char *text, int width)
{
    bool cut = table_width(text) > width;
    int room = cut && width >= 2 ? width - 2 : width, used = 0, columns;
    while (*text) {
        bool printable;
        int len = step(text, &columns, &printable);
        if (used + columns > room)
            break;
        if (printable)
            strbuf_add(out, text, (size_t)len);
        else
            strbuf_putc(out, '?');
        used += columns;
        text += len;
    }
    if (cut && width >= 2) {
        strbuf_puts(out, "..");
        used += 2;
    }
    return used;
}

/* Bytes of the longest beginning of `text` that fits `width` columns, at a space if it can be. */
static size_t line_end(const char *text, int width)
{
    size_t at = 0, space = 0;
    int used = 0, columns;
    bool printable;
    while (text[at]) {
        if (text[at] == ' ')
            space = at;
        int len = step(text + at, &columns, &printable);
        if (used + columns > width && at)
            return space ? space : at;
        used += columns;
        at += (size_t)len;
    }
    return at;
}

void table_wrap(struct strbuf *out, const char *first, const char *text, int width)
{
    int indent = table_width(first);
    strbuf_puts(out, first);
    width = width - indent < 20 ? 20 : width - indent;
    for (;;) {
        size_t len = line_end(text, width);
        struct strbuf line = {0};
        strbuf_add(&line, text, len);
        table_text(out, line.text, INT_MAX);
        strbuf_free(&line);
        strbuf_putc(out, '\n');
        text += len;
        text += strspn(text, " ");
        if (!*text)
            return;
        strbuf_printf(out, "%*s", indent, "");
    }
}
