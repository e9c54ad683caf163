/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none: names of files and regions
 * come from outside and need not be UTF-8, but JSON must be. */
static int utf8_len(const unsigned char *s)
{
    int len = s[0] < 0x80                    ? 1
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
    const unsigned char *s = (const unsigned char *)text, *plain = s;
    strbuf_putc(out, '"');
    for (;;) {
        int len = *s < 0x80 ? 1 : utf8_len(s);
        if (len && *s >= 0x20 && *s != '"' && *s != '\\' && *s != 0x7f) {
            s += len;
            continue;
        }
        strbuf_add(out, (const char *)plain, (size_t)(s - plain));
        if (!*s)
            break;
        if (*s == '"' || *s == '\\')
            strbuf_printf(out, "\\%c", *s);
        else if (len)
            strbuf_printf(out, "\\u%04x", *s);
        else
            strbuf_puts(out, "\\ufffd");
        plain = ++s;
    }
    strbuf_putc(out, '"');
}

/* Decimal digits of a number. A report of many ranks is numbers for the most part, and printf takes
 * longer than all the rest together. */
static int digits(char *to, uint64_t value)
{
    char reversed[24];
    int len = 0;
    do
        reversed[len++] = (char)('0' + value % 10);
    while (value /= 10);
    for (int i = 0; i < len; i++)
        to[i] = reversed[len - 1 - i];
    return len;
}

enum { SIGNIFICANT = 9, EXPONENT_LEAST = -13 };

/* What %.9g prints, for numbers from 1e-13 to 1e8; 0 if the number is outside. */
static int decimal(char *to, double value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!(value >= 1e-13 && value < 1e8))
        return 0;
    int exponent = 0, len = 0;
    while (value >= powers[exponent + 1])
        exponent++;
    while (exponent > EXPONENT_LEAST && value * powers[exponent < 0 ? -exponent : 0] < 1)
        exponent--;
    uint64_t mantissa = (uint64_t)(value * powers[SIGNIFICANT - 1 - exponent] + 0.5);
    char figures[24];
    int count = digits(figures, mantissa);
    exponent += count - SIGNIFICANT; /* rounded up to the next power */
    while (count > 1 && figures[count - 1] == '0')
        count--;
    bool scientific = exponent < -4;
    int point = scientific ? 1 : exponent + 1; /* figures before the point */
    if (point <= 0) {
        memcpy(to, "0.0000", (size_t)(2 - point));
        len = 2 - point;
    }
    for (int i = 0; i < count || i < point; i++) {
        if (i && i == point)
            to[len++] = '.';
        to[len++] = i < count ? figures[i] : '0';
    }
    if (scientific) {
        to[len++] = 'e';
        to[len++] = '-';
        len += digits(to + len, (uint64_t)-exponent);
    }
    return len;
}

enum { NUMBER = 48 }; /* and what is around it */

/* What stands before a value; returns room for a short one behind it, of which finish() says how
 * much was used. */
static char *head(struct json *j, const char *key)
{
    size_t len = key ? strlen(key) : 0;
    char *to = strbuf_room(j->out, len + NUMBER);
    if (j->comma)
        *to++ = ',';
    j->comma = true;
    if (!key)
        return to;
    *to++ = '"';
    memcpy(to, key, len);
    to += len;
    *to++ = '"';
    *to++ = ':';
    return to;
}

static void finish(struct json *j, const char *end)
{
    strbuf_grown(j->out, end);
}

static void begin(struct json *j, const char *key)
{
    finish(j, head(j, key));
}

static void open_with(struct json *j, const char *key, char bracket)
{
    char *to = head(j, key);
    *to++ = bracket;
    finish(j, to);
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
    char *to = head(j, key);
    if (value < 0)
        *to++ = '-';
    finish(j, to + digits(to, value < 0 ? -(uint64_t)value : (uint64_t)value));
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
    char *to = head(j, key);
    finish(j, to + digits(to, value));
}

void json_double(struct json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    char *to = head(j, key);
    int len = decimal(to, value);
    if (!len && value == 0)
        to[len++] = '0';
    finish(j, to + len);
    if (!len)
        strbuf_printf(j->out, "%.9g", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    begin(j, key);
    strbuf_puts(j->out, value ? "true" : "false");
}
