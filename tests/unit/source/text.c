/* SPDX-License-Identifier: MIT */
#include "source/text.h"

#include "base/alloc.h"
#include "lib/tap.h"
#include "source/edits.h"

#include <stdlib.h>
#include <string.h>

static struct text cut(const char *bytes, bool cplusplus)
{
    struct text t = {.bytes = bytes, .length = (uint32_t)strlen(bytes)};
    text_cut(&t, cplusplus);
    return t;
}

/* The number of the only token that is this word. */
static uint32_t find(const struct text *t, const char *word)
{
    uint32_t found = TEXT_NONE;
    for (uint32_t i = 0; i < t->count; i++)
        if (text_is(t, i, word))
            found = found == TEXT_NONE ? i : TEXT_NONE - 1;
    return found;
}

static void test_tokens(void)
{
    struct text t = cut("a/*b*/+c // d \\\n e\n\"f\\\"g\" 'h' 1.5e+3 .5 i\\\nj", true);
    ok(t.count == 8, "comments are no tokens, strings and numbers are one: %zu", t.count);
    ok(find(&t, "e") == TEXT_NONE, "a comment goes on behind a backslash");
    ok(t.tokens[7].kind == TOKEN_WORD && t.tokens[7].end - t.tokens[7].start == 4,
       "a word may be cut by a line end");
    ok(text_token_at(&t, t.tokens[3].start) == 3 &&
           text_token_at(&t, t.tokens[3].start + 1) == TEXT_NONE,
       "only the first character of a token starts it");
    ok(text_token_before(&t, t.tokens[3].end) == 3, "and the last one ends it");
    text_free(&t);
    t = cut("x = R\"a(\")\" { )a\"; y = 1'000; z", true);
    ok(find(&t, "z") == t.count - 1 && t.count == 9, "raw strings, apostrophes in numbers");
    text_free(&t);
    t = cut("x 'a' y", false);
    ok(t.count == 3, "characters in C");
    text_free(&t);
    t = cut("\xef\xbb\xbf"
            "x\r\n#pragma omp /* c */ for \\\r\n collapse(2)\r\ny",
            false);
    size_t count, first = text_directives_before(&t, 1, &count);
    ok(t.count == 2 && count == 1 && !strcmp(t.directives[first].pragma, "omp for collapse(2) "),
       "a pragma over two lines: \"%s\"", t.directives[first].pragma);
    text_free(&t);
    t = cut("\"open\n} /* open", false);
    ok(t.count == 2, "what has no end");
    text_free(&t);
}

static void test_brackets(void)
{
    struct text t = cut("f(a[1], {b}); } c", false);
    uint32_t b = find(&t, "b"), c = find(&t, "c");
    ok(t.tokens[1].match != TEXT_NONE && t.tokens[t.tokens[1].match].kind == ')', "a pair");
    ok(t.tokens[t.tokens[b].inside].kind == '{', "the innermost one around");
    ok(t.tokens[c].inside == TEXT_NONE && t.tokens[c - 1].match == TEXT_NONE, "one too many");
    text_free(&t);
}

static void test_regions(void)
{
    struct text t =
        cut("a\n#if 1\nb\n# ifdef X\nc\n#endif\nd\n#elif 2\ne\n#else\nf\n#endif\ng", false);
    uint32_t region[7];
    for (int i = 0; i < 7; i++)
        region[i] = t.tokens[find(&t, (char[]){(char)('a' + i), 0})].region;
    ok(region[0] == region[6], "the same before and after");
    ok(region[1] == region[3] && region[1] != region[0], "the same around an inner one");
    ok(region[2] != region[1] && region[4] != region[1] && region[5] != region[4],
       "every branch is another");
    text_free(&t);
    const char *bytes = "a\n#if 0\ndon't } \" )\n#else\nb\n#endif\nM(c) d";
    t = (struct text){.bytes = bytes, .length = (uint32_t)strlen(bytes)};
    *VEC_PUSH(t.skipped, t.skipped_count, t.skipped_room) =
        (struct range){2, (uint32_t)(strstr(bytes, "#else") - bytes)};
    uint32_t m = (uint32_t)(strchr(bytes, 'M') - bytes);
    *VEC_PUSH(t.macros, t.macro_count, t.macro_room) = (struct range){m + 2, m + 3};
    *VEC_PUSH(t.macros, t.macro_count, t.macro_room) = (struct range){m, m + 4};
    text_settle_macros(&t);
    text_cut(&t, false);
    ok(t.count == 7, "what is skipped has no tokens: %zu", t.count);
    ok(t.macro_count == 1 && text_macro_at(&t, m + 2)->end == m + 4 && !text_macro_at(&t, m + 4),
       "a macro in another's arguments belongs to that one");
    ok(t.tokens[find(&t, "c")].macro && !t.tokens[find(&t, "d")].macro, "tokens of macros");
    text_free(&t);
}

static void test_edits(void)
{
    struct text t = {0};
    edits_add(&t, 5, true, 3, xstrdup("C"));
    edits_add(&t, 5, true, 2, xstrdup("B"));
    edits_add(&t, 5, false, 0, xstrdup("y"));
    edits_add(&t, 5, false, 1, xstrdup("x"));
    edits_add(&t, 1, true, 9, xstrdup("A"));
    edits_sort(&t);
    char all[6] = "";
    for (size_t i = 0; i < t.insertion_count; i++)
        all[i] = *t.insertions[i].text;
    ok(!strcmp(all, "AxyBC"), "ends from inside, then beginnings from outside: %s", all);
    text_free(&t);
}

int main(void)
{
    test_tokens();
    test_brackets();
    test_regions();
    test_edits();
    return tap_done();
}
