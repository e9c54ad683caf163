/* SPDX-License-Identifier: MIT */
/* Writes JSON into a strbuf; commas and escapes are its business, nesting is the caller's. */
#ifndef LOUPE_BASE_JSON_H
#define LOUPE_BASE_JSON_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct json {
    struct strbuf *out;
    bool comma;
};

/* `key` is NULL inside arrays; else a word of the program's own, without anything to escape. */
void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL value: null */
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_double(struct json *j, const char *key, double value); /* not finite: null */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

#endif
