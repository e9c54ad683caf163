/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "view/format.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IS(call, wanted) ok(!strcmp((call), (wanted)), "%s gives %s", #call, wanted)

static void test_units(void)
{
    char to[FORMAT_ROOM];
    IS(format_time(to, 1.234), "1.23 s");
    IS(format_time(to, 0.045), "45.0 ms");
    IS(format_time(to, 0.9999), "1.00 s");
    IS(format_time(to, 0.99949), "999 ms");
    IS(format_time(to, 9.999), "10.0 s");
    IS(format_time(to, 3e-9), "3.00 ns");
    IS(format_time(to, 0), "0 s");
    IS(format_time(to, -0.5), "-500 ms");
    IS(format_time(to, INFINITY), "-");
    IS(format_time(to, 360000), "100 h");
    IS(format_count(to, 9999), "9999");
    IS(format_count(to, 12345), "12.3k");
    IS(format_count(to, 999999), "1.00M");
    IS(format_count(to, UINT64_MAX), "18.4E");
    IS(format_number(to, 0), "0");
    IS(format_number(to, 999), "999");
    IS(format_number(to, 81234), "81,234");
    IS(format_number(to, UINT64_MAX), "18,446,744,073,709,551,615");
    IS(format_bytes(to, 0), "0 B");
    IS(format_bytes(to, 1023), "1023 B");
    IS(format_bytes(to, 3250586), "3.1 MiB");
    IS(format_bytes(to, 1048575), "1.0 MiB");
    IS(format_bytes(to, UINT64_MAX), "16.0 EiB");
    IS(format_bytes_short(to, 65536), "64.0K");
    IS(format_percent(to, 0.1234), "12.3%");
    IS(format_percent(to, NAN), "-");
    IS(format_spread(to, 0.1, 0.31, 0.5), "100/310/500 ms");
    IS(format_spread(to, 0, 1.5, 12), "0.0/1.5/12.0 s");
    IS(format_spread(to, 0, 0, 0), "0 s");
    IS(format_date(to, 1769860800000000000), "2026-01-31T12:00:00Z");
}

static void test_paths(void)
{
    IS(format_base("/a/b/c.c"), "c.c");
    IS(format_base("c.c"), "c.c");
    IS(format_tail("/opt/app/src/deep/file.c", 12), "deep/file.c");
    IS(format_tail("short.c", 20), "short.c");
    IS(format_tail("dir/", 2), "dir/");
}

static void is_cut(const char *text, int width, const char *wanted)
{
    struct strbuf out = {0};
    int used = table_text(&out, text, width);
    ok(!strcmp(out.text ? out.text : "", wanted) && used == table_width(wanted) && used <= width,
       "\"%s\" in %d columns", wanted, width);
    strbuf_free(&out);
}

static void test_cutting(void)
{
    is_cut("procedure", 20, "procedure");
    is_cut("procedure", 9, "procedure");
    is_cut("procedure", 8, "proced..");
    is_cut("größe", 5, "größe");
    is_cut("größenwahn", 6, "größ..");
    is_cut("計算計算", 7, "計算..");
    is_cut("計算計算", 8, "計算計算");
    is_cut("ab\033[31m", 20, "ab?[31m");
    is_cut("a\xff\xc3", 20, "a??");
    is_cut("abc", 1, "a");
    is_cut("", 4, "");
}

static void test_table(void)
{
    static const struct table_column columns[] = {{.title = "n"},
                                                  {.title = "detail", .drop = 1},
                                                  {.title = "name", .left = true, .shrink = 6}};
    struct table *t = table_new(columns, 3);
    table_cell(t, "%d", 1);
    table_cell(t, "12345");
    table_cell(t, "first name");
    table_cell(t, "%d", 100);
    table_cell(t, "-");
    table_cell(t, "ß");
    struct strbuf out = {0};
    table_print(t, 80, false, &out);
    ok(!strcmp(out.text, "  n  detail  name\n  1   12345  first name\n100       -  ß\n"),
       "all columns where there is room");
    strbuf_clear(&out);
    table_print(t, 19, false, &out);
    ok(!strcmp(out.text, "  n  detail  name\n  1   12345  firs..\n100       -  ß\n"),
       "first the name is cut");
    strbuf_clear(&out);
    table_print(t, 18, false, &out);
    ok(!strcmp(out.text, "  n  name\n  1  first name\n100  ß\n"),
       "then the column goes that matters least");
    strbuf_free(&out);
    table_free(t);
    table_free(NULL);
}

static void is_brief(const char *name, const char *wanted)
{
    char *brief = format_procedure_brief(name);
    ok(wanted ? brief && !strcmp(brief, wanted) : !brief, "%s is %s in short", name,
       wanted ? wanted : "itself");
    free(brief);
}

static void is_node_brief(const struct graph_node *node, const char *wanted)
{
    char *brief = format_node_brief(node);
    ok(wanted ? brief && !strcmp(brief, wanted) : !brief, "a statement in short: %s",
       wanted ? wanted : "itself");
    free(brief);
}

static void test_brief(void)
{
    is_brief("solve", NULL);
    is_brief("solve(int, char*)", "solve");
    is_brief("Comm::setup", NULL);
    is_brief("Comm::setup()", "Comm::setup");
    is_brief("LAMMPS_NS::CommBrick::setup(int (*) [2])", "CommBrick::setup");
    is_brief("a::b::c::d", "c::d");
    is_brief("std::vector<a::b>::push(int)", NULL);
    is_brief("(anonymous namespace)::f(int)", NULL);
    is_brief("::", NULL);
    is_brief("", NULL);
    struct graph_node n = {.name = (char *)"MPI_Send",
                           .module = (char *)"/usr/lib/liblammps.so.0",
                           .offset = 0x2b0cab,
                           .procedure = (char *)"ns::Comm::run(int)"};
    is_node_brief(&n, "MPI_Send ..+0x2b0cab in Comm::run");
    n.procedure = NULL;
    is_node_brief(&n, "MPI_Send liblammp..+0x2b0cab");
    n.file = (char *)"/src/comm.cpp";
    n.line = 7;
    is_node_brief(&n, NULL);
    n.procedure = (char *)"ns::Comm::run(int)";
    is_node_brief(&n, "MPI_Send comm.cpp:7 in Comm::run");
    n.kind = GRAPH_CALL;
    n.name = (char *)"ns::Comm::wait(int)";
    is_node_brief(&n, "call Comm::wait comm.cpp:7 in Comm::run");
    n.kind = GRAPH_PROCEDURE;
    n.procedure = NULL;
    is_node_brief(&n, "procedure Comm::wait comm.cpp:7");
    n.kind = GRAPH_LOOP;
    n.name = (char *)"for";
    is_node_brief(&n, NULL);
}

static void test_table_brief(void)
{
    static const struct table_column columns[] = {{.title = "name", .left = true, .shrink = 6}};
    struct table *t = table_new(columns, 1);
    table_cell(t, "first name");
    table_brief(t, strdup("first"));
    table_cell(t, "second name");
    table_brief(t, strdup("2nd name"));
    table_cell(t, "third name");
    table_brief(t, NULL);
    struct strbuf out = {0};
    table_print(t, 11, false, &out);
    ok(!strcmp(out.text, "name\nfirst name\nsecond name\nthird name\n"), "whole where they fit");
    strbuf_clear(&out);
    table_print(t, 7, false, &out);
    ok(!strcmp(out.text, "name\nfirst\n2nd n..\nthird..\n"), "else in short, then cut");
    strbuf_free(&out);
    table_free(t);
}

static void test_table_keep(void)
{
    static const struct table_column columns[] = {{.title = "name", .left = true, .shrink = 6}};
    struct table *t = table_new(columns, 1);
    table_cell(t, "  call größe_der_langen_prozedur a.c:12");
    table_keep(t, " a.c:12");
    table_cell(t, "  another that does not end so");
    table_keep(t, " a.c:12");
    struct strbuf out = {0};
    table_print(t, 39, false, &out);
    ok(!strcmp(out.text, "name\n  call größe_der_langen_prozedur a.c:12\n"
                         "  another that does not end so\n"),
       "whole where it fits");
    strbuf_clear(&out);
    table_print(t, 27, false, &out);
    ok(!strcmp(out.text, "name\n  call größe_der_l.. a.c:12\n  another that does not e..\n"),
       "else cut before the end, if it is the end");
    strbuf_clear(&out);
    table_print(t, 20, false, &out);
    ok(!strcmp(out.text, "name\n  call größe_der_l..\n  another that doe..\n"),
       "and as ever where that leaves no beginning");
    strbuf_free(&out);
    table_free(t);
}

static void test_wrap(void)
{
    struct strbuf out = {0};
    table_wrap(&out, "note: ", "these words go on and on", 26);
    ok(!strcmp(out.text, "note: these words go on\n      and on\n"),
       "wrapped at a space, and indented");
    strbuf_clear(&out);
    table_wrap(&out, "", "", 26);
    ok(!strcmp(out.text, "\n"), "nothing is an empty line");
    strbuf_clear(&out);
    table_wrap(&out, "", "aaaaaaaaaaaaaaaaaaaaaaaaa", 20);
    ok(!strcmp(out.text, "aaaaaaaaaaaaaaaaaaaa\naaaaa\n"), "cut where there is no space");
    strbuf_free(&out);
}

int main(void)
{
    test_units();
    test_paths();
    test_cutting();
    test_table();
    test_brief();
    test_table_brief();
    test_table_keep();
    test_wrap();
    return tap_done();
}
