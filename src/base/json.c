/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
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

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                            "25262728293031323334353637383940414243444546474849"
                            "50515253545556575859606162636465666768697071727374"
                            "75767778798081828384858687888990919293949596979899";

/* Decimal digits of a number. printf takes longer than all the rest of a report together. */
int json_digits(char *to, uint64_t value)
{
    int len = 1;
    for (uint64_t limit = 10; len < 20 && value >= limit; limit *= 10)
        len++;
    char *at = to + len;
    for (; value >= 100; value /= 100)
        memcpy(at -= 2, pairs + 2 * (value % 100), 2);
    if (value >= 10)
        memcpy(to, pairs + 2 * value, 2);
    else
        *to = (char)('0' + value);
    return len;
}

enum { SIGNIFICANT = 9, EXPONENT_LEAST = -13 };
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Of the first figure, for numbers from 1e-13 to 1e8. */
static int decimal_exponent(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int binary = (int)(bits >> 52) - 1023;
    int exponent = (binary * 1233) >> 12; /* log 2; at most one too small */
    int next = exponent + 1;
    bool reached = next >= 0 ? value >= powers[next] : value * powers[-next] >= 1;
    exponent = reached ? next : exponent;
    return exponent < EXPONENT_LEAST ? EXPONENT_LEAST : exponent;
}

/* What %.9g prints, for numbers from 1e-13 to 1e8; 0 if the number is outside. */
static int decimal(char *to, double value)
{
    if (!(value >= 1e-13 && value < 1e8))
        return 0;
    int exponent = decimal_exponent(value), len = 0;
    uint64_t mantissa = (uint64_t)(value * powers[SIGNIFICANT - 1 - exponent] + 0.5);
    char figures[24];
    int count = json_digits(figures, mantissa);
    exponent += count - SIGNIFICANT; /* rounded up to the next power */
    while (count > 1 && figures[count - 1] == '0')
        count--;
    bool scientific = exponent < -4;
    int point = scientific ? 1 : exponent + 1; /* figures before the point */
    if (point <= 0) {
        memcpy(to, "0.0000", 6);
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
        len += json_digits(to + len, (uint64_t)-exponent);
    }
    return len;
}

/* A number that is not 0, at `to`, which json_key() gave. */
void json_finite(struct json *j, char *to, double value)
{
    int len = decimal(to, value);
    if (!len)
        len = isfinite(value) ? snprintf(to, JSON_NUMBER - 8, "%.9g", value)
                              : snprintf(to, JSON_NUMBER - 8, "null");
    strbuf_grown(j->out, to + len);
}

static void put(struct json *j, const char *key, const char *text)
{
    strbuf_grown(j->out, json_key(j, key));
    strbuf_puts(j->out, text);
}

void json_null(struct json *j, const char *key)
{
    put(j, key, "null");
}

void json_string(struct json *j, const char *key, const char *value)
{
    if (!value) {
        json_null(j, key);
        return;
    }
    put(j, key, "");
    quoted(j->out, value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    put(j, key, value ? "true" : "false");
}
