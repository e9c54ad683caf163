/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none: names of files and regions
 * come from outside and need not be UTF-8, but JSON must be. */
static int utf8_len(const unsigned char *s)
{
    int len = s[0] < 0x80                       ? 1
              : s[0] >= 0xc2 && s[0] <= 0xdf ? 2
              : s[0] >= 0xe0 && s[0] <= 0xef ? 3
              : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                             : 0;
    for (int i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

static void quoted(struct strbuf *out, const char *text)
{
    strbuf_putc(out, '"');
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int len = utf8_len(s);
        if (*s == '"' || *s == '\\')
            strbuf_printf(out, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            strbuf_printf(out, "\\u%04x", *s);
        else if (len)
            strbuf_add(out, (const char *)s, (size_t)len);
        else
            strbuf_puts(out, "\\ufffd");
        s += len ? len : 1;
    }
    strbuf_putc(out, '"');
}

static void begin(struct json *j, const char *key)
{
    if (j->comma)
        strbuf_putc(j->out, ',');
    if (key) {
        quoted(j->out, key);
        strbuf_putc(j->out, ':');
    }
    j->comma = true;
}

static void open_with(struct json *j, const char *key, char bracket)
{
    begin(j, key);
    strbuf_putc(j->out, bracket);
    j->comma = false;
}

static void close_with(struct json *j, char bracket)
{
    strbuf_putc(j->out, bracket);
    j->comma = true;
}

void json_object_begin(struct json *j, const char *key)
{
    open_with(j, key, '{');
}

void json_object_end(struct json *j)
{
    close_with(j, '}');
}

void json_array_begin(struct json *j, const char *key)
{
    open_with(j, key, '[');
}

void json_array_end(struct json *j)
{
    close_with(j, ']');
}

void json_null(struct json *j, const char *key)
{
    begin(j, key);
    strbuf_puts(j->out, "null");
}

void json_string(struct json *j, const char *key, const char *value)
{
    if (!value) {
        json_null(j, key);
        return;
    }
    begin(j, key);
    quoted(j->out, value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
    begin(j, key);
    strbuf_printf(j->out, "%" PRId64, value);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
    begin(j, key);
    strbuf_printf(j->out, "%" PRIu64, value);
}

void json_double(struct json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    begin(j, key);
    strbuf_printf(j->out, "%.9g", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    begin(j, key);
    strbuf_puts(j->out, value ? "true" : "false");
}
