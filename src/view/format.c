/* SPDX-License-Identifier: MIT */
#include "view/format.h"

#include "base/alloc.h"
#include "base/strbuf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Decimals that leave three digits. A value that rounds up to the next power counts as that. */
static int decimals(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

struct unit {
    double size;
    const char *name;
};

static struct unit time_unit(double seconds)
{
    double a = fabs(seconds);
    if (a < 0.9995e-6)
        return (struct unit){1e-9, "ns"};
    if (a < 0.9995e-3)
        return (struct unit){1e-6, "us"};
    if (a < 0.9995)
        return (struct unit){1e-3, "ms"};
    if (a < 100000)
        return (struct unit){1, "s"};
    return (struct unit){3600, "h"};
}

char *format_time(char to[FORMAT_ROOM], double seconds)
{
    struct unit unit = time_unit(seconds);
    double value = seconds / unit.size;
    if (!isfinite(seconds))
        snprintf(to, FORMAT_ROOM, "-");
    else if (seconds == 0)
        snprintf(to, FORMAT_ROOM, "0 s");
    else
        snprintf(to, FORMAT_ROOM, "%.*f %s", decimals(fabs(value)), value, unit.name);
    return to;
}

char *format_count(char to[FORMAT_ROOM], uint64_t count)
{
    static const char units[] = "kMGTPE";
    if (count < 10000) {
        snprintf(to, FORMAT_ROOM, "%" PRIu64, count);
        return to;
    }
    double value = (double)count / 1000;
    size_t u = 0;
    for (; value >= 999.5 && u + 1 < sizeof units - 1; u++)
        value /= 1000;
    snprintf(to, FORMAT_ROOM, "%.*f%c", decimals(value), value, units[u]);
    return to;
}

char *format_number(char to[FORMAT_ROOM], uint64_t number)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            to[at++] = ',';
        to[at++] = digits[i];
    }
    to[at] = '\0';
    return to;
}

static char *bytes_with(char to[FORMAT_ROOM], uint64_t bytes, const char *plain, const char *ending)
{
    static const char units[] = "KMGTPE";
    if (bytes < 1024) {
        snprintf(to, FORMAT_ROOM, "%" PRIu64 "%s", bytes, plain);
        return to;
    }
    double value = (double)bytes / 1024;
    size_t u = 0;
    for (; value >= 1023.5 && u + 1 < sizeof units - 1; u++)
        value /= 1024;
    int places = value < 99.95 ? 1 : 0;
    snprintf(to, FORMAT_ROOM, "%.*f%s%c%s", places, value, *ending ? " " : "", units[u], ending);
    return to;
}

char *format_bytes(char to[FORMAT_ROOM], uint64_t bytes)
{
    return bytes_with(to, bytes, " B", "iB");
}

char *format_bytes_short(char to[FORMAT_ROOM], uint64_t bytes)
{
    return bytes_with(to, bytes, "", "");
}

char *format_percent(char to[FORMAT_ROOM], double share)
{
    if (isfinite(share))
        snprintf(to, FORMAT_ROOM, "%.1f%%", 100 * share);
    else
        snprintf(to, FORMAT_ROOM, "-");
    return to;
}

char *format_spread(char to[FORMAT_ROOM], double min, double avg, double max)
{
    if (max == 0 || !isfinite(max)) {
        snprintf(to, FORMAT_ROOM, max == 0 ? "0 s" : "-");
        return to;
    }
    struct unit unit = time_unit(max);
    int places = decimals(fabs(max / unit.size));
    snprintf(to, FORMAT_ROOM, "%.*f/%.*f/%.*f %s", places, min / unit.size, places, avg / unit.size,
             places, max / unit.size, unit.name);
    return to;
}

char *format_rank(char to[FORMAT_ROOM], const struct run_rank *rank)
{
    if (rank->world > 0)
        snprintf(to, FORMAT_ROOM, "w%d:%d", rank->world, rank->rank);
    else
        snprintf(to, FORMAT_ROOM, "%d", rank->rank);
    return to;
}

char *format_pair(char to[FORMAT_ROOM], const struct run *run, const struct run_peer *peer)
{
    const char *arrow = peer->received ? "<-" : "->";
    char self[FORMAT_ROOM];
    format_rank(self, &run->ranks[peer->rank]);
    if (peer->peer >= 0)
        snprintf(to, FORMAT_ROOM, "%.16s%s%d", self, arrow, peer->peer);
    else
        snprintf(to, FORMAT_ROOM, "%.16s%s%s", self, arrow,
                 peer->peer == RUN_PEER_OTHERS ? "others" : "foreign");
    return to;
}

char *format_date(char to[FORMAT_ROOM], int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || !strftime(to, FORMAT_ROOM, "%Y-%m-%dT%H:%M:%SZ", &tm))
        snprintf(to, FORMAT_ROOM, "-");
    return to;
}

const char *format_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *format_tail(const char *path, size_t room)
{
    const char *tail = path;
    while (strlen(tail) > room) {
        const char *slash = strchr(tail, '/');
        if (!slash || !slash[1])
            break;
        tail = slash + 1;
    }
    return tail;
}

char *format_where(const struct graph_node *node)
{
    if (node->file && node->line)
        return xasprintf("%s:%u", format_base(node->file), node->line);
    if (node->module)
        return xasprintf("%s+0x%" PRIx64, format_base(node->module), node->offset);
    return xstrdup(node->file ? format_base(node->file) : "");
}

/* What it is and its name: "MPI_Send", "call P4", "for loop", "procedure P3". What is known from
 * its statements alone has no line and is its name only. */
static void put_name(struct strbuf *text, const struct graph_node *node, const char *name)
{
    if (node->kind == GRAPH_LOOP)
        strbuf_printf(text, node->name ? "%s loop" : "loop", name);
    else if (node->kind == GRAPH_CALL && node->file)
        strbuf_printf(text, "call %s", name);
    else if (node->kind == GRAPH_PROCEDURE && (node->line || node->group))
        strbuf_printf(text, "procedure %s", name);
    else
        strbuf_puts(text, name);
}

/* A region has no place, nor has a procedure that is known from its statements alone. */
static bool has_place(const struct graph_node *node)
{
    return node->kind == GRAPH_COMMUNICATION || node->kind == GRAPH_CALL ||
           node->kind == GRAPH_LOOP || (node->kind == GRAPH_PROCEDURE && node->line);
}

char *format_node(const struct graph_node *node)
{
    struct strbuf text = {0};
    put_name(&text, node, node->name ? node->name : "?");
    if (!has_place(node))
        return strbuf_take(&text);
    char *where = format_where(node);
    if (*where)
        strbuf_printf(&text, " %s", where);
    if (node->procedure && node->kind != GRAPH_PROCEDURE)
        strbuf_printf(&text, " in %s", node->procedure);
    free(where);
    return strbuf_take(&text);
}

/* C++ names are long where they say least: in the namespaces before and the parameters after. */
char *format_procedure_brief(const char *name)
{
    /* Templates, operators and lambdas have these characters in their names too. */
    if (strpbrk(name, "<>{} ") && strcspn(name, "<>{} ") < strcspn(name, "("))
        return NULL;
    size_t len = strcspn(name, "(");
    const char *begin = name, *last = name;
    for (const char *at = name; at + 1 < name + len; at++)
        if (at[0] == ':' && at[1] == ':') {
            begin = last;
            last = at + 2;
        }
    len -= (size_t)(begin - name);
    return len && len < strlen(name) ? strndup(begin, len) : NULL;
}

char *format_node_brief(const struct graph_node *node)
{
    bool line = node->file && node->line, statement = node->kind != GRAPH_PROCEDURE;
    char *procedure = node->procedure ? format_procedure_brief(node->procedure) : NULL;
    bool named = node->name && (node->kind == GRAPH_CALL || node->kind == GRAPH_PROCEDURE);
    char *name = named ? format_procedure_brief(node->name) : NULL;
    if (!procedure && !name && (line || !node->module || !statement))
        return NULL;
    struct strbuf text = {0};
    put_name(&text, node, name ? name : node->name ? node->name : "?");
    if (line)
        strbuf_printf(&text, " %s:%u", format_base(node->file), node->line);
    else if (node->module && statement) /* its beginning where no procedure says whose code it is */
        strbuf_printf(&text, " %.*s..+0x%" PRIx64, node->procedure ? 0 : 8,
                      format_base(node->module), node->offset);
    if (node->procedure && node->kind != GRAPH_PROCEDURE)
        strbuf_printf(&text, " in %s", procedure ? procedure : node->procedure);
    free(procedure);
    free(name);
    return strbuf_take(&text);
}
