/* SPDX-License-Identifier: MIT */
/* Writes JSON into a strbuf; commas and escapes are its business, nesting is the caller's. */
#ifndef LOUPE_BASE_JSON_H
#define LOUPE_BASE_JSON_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct json {
    struct strbuf *out;
    bool comma;
};

enum { JSON_NUMBER = 48 }; /* room for a number, and what is around it */
int json_digits(char *to, uint64_t value);
void json_finite(struct json *j, char *to, double value);

/*
 * `key` is NULL inside arrays; else a word of the program's own, without anything to escape. A
 * report of many ranks is keys and numbers for the most part: what writes those is here, so that
 * the length of a key is known where it is used.
 */

/* What stands before a value; returns room for a short one, which ends with strbuf_grown(). */
static inline char *json_key(struct json *j, const char *key)
{
    size_t len = key ? strlen(key) : 0;
    char *to = strbuf_room(j->out, len + JSON_NUMBER);
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

static inline void json_open(struct json *j, const char *key, char bracket)
{
    char *to = json_key(j, key);
    *to++ = bracket;
    strbuf_grown(j->out, to);
    j->comma = false;
}

static inline void json_close(struct json *j, char bracket)
{
    char *to = strbuf_room(j->out, 1);
    *to++ = bracket;
    strbuf_grown(j->out, to);
    j->comma = true;
}

static inline void json_object_begin(struct json *j, const char *key)
{
    json_open(j, key, '{');
}

static inline void json_object_end(struct json *j)
{
    json_close(j, '}');
}

static inline void json_array_begin(struct json *j, const char *key)
{
    json_open(j, key, '[');
}

static inline void json_array_end(struct json *j)
{
    json_close(j, ']');
}

static inline void json_uint(struct json *j, const char *key, uint64_t value)
{
    char *to = json_key(j, key);
    strbuf_grown(j->out, to + json_digits(to, value));
}

static inline void json_int(struct json *j, const char *key, int64_t value)
{
    char *to = json_key(j, key);
    if (value < 0)
        *to++ = '-';
    strbuf_grown(j->out, to + json_digits(to, value < 0 ? -(uint64_t)value : (uint64_t)value));
}

/* Not finite: null. */
static inline void json_double(struct json *j, const char *key, double value)
{
    char *to = json_key(j, key);
    if (value != 0) {
        json_finite(j, to, value);
        return;
    }
    *to++ = '0';
    strbuf_grown(j->out, to);
}

/* A short word of the program's own, without anything to escape. */
static inline void json_word(struct json *j, const char *key, const char *word)
{
    char *to = json_key(j, key);
    size_t len = strlen(word);
    *to++ = '"';
    memcpy(to, word, len);
    to += len;
    *to++ = '"';
    strbuf_grown(j->out, to);
}

void json_string(struct json *j, const char *key, const char *value); /* NULL value: null */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

#endif
