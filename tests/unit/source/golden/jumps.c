/* SPDX-License-Identifier: MIT */
/* Ways into and out of loops and procedures. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf buffer;

static int say(int x)
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("%d ", x); }
    return x;
}

static int duff(int n)
{ LOUPE_PROCEDURE(2)
    int turns = (n + 3) / 4, s = 0;
    switch (n % 4) {
    case 0:
        do {
            { LOUPE_STATEMENT(3) s += say(0); }
        case 3: { LOUPE_STATEMENT(4) s += say(3); }
        case 2: { LOUPE_STATEMENT(5) s += say(2); }
        case 1: { LOUPE_STATEMENT(6) s += say(1); }
        } while (--turns > 0);
    }
    return s;
}

static int into(int n)
{ LOUPE_PROCEDURE(7)
    int i = 0;
    if (n)
        goto middle;
    for (i = 0; i < 3; i++) {
        { LOUPE_STATEMENT(8) say(i); }
    middle:
        { LOUPE_STATEMENT(9) say(100 + i); }
    }
    { LOUPE_LOOP(10) for (i = 0; i < 2; i++) { LOUPE_ITERATION(11) {
        int k = 0;
    inner:
        if ((LOUPE_CALL(12), say(k++)) < 1)
            goto inner;
    } } }
    return n;
}

static int computed(int n)
{ LOUPE_PROCEDURE(13)
    static void *const to[] = {&&zero, &&one};
    int i;
    for (i = 0; i < 2; i++) {
        goto *to[n & 1];
    zero:
        { LOUPE_STATEMENT(14) say(10); }
        continue;
    one:
        { LOUPE_STATEMENT(15) say(11); }
    }
    return n;
}

static int out_of(int n)
{ LOUPE_PROCEDURE(16)
    { LOUPE_LOOP(17) for (int i = 0; i < 4; i++)
        { LOUPE_ITERATION(18) { LOUPE_LOOP(19) for (int j = 0; j < 4; j++) { LOUPE_ITERATION(20) {
            if ((LOUPE_CALL(21), say(i * j)) == n)
                goto found;
            if (i == 3)
                return (LOUPE_CALL(22), say(-1));
        } } } } }
    return 0;
found:
    return (LOUPE_CALL(23), say(n));
}

static void deep(int n)
{ LOUPE_PROCEDURE(24)
    { LOUPE_STATEMENT(25) say(n); }
    if (n == 0)
        longjmp(buffer, 7);
    { LOUPE_LOOP(26) while (n > 0)
        { LOUPE_ITERATION(27) { LOUPE_STATEMENT(28) deep(n - 1); } } }
}

static int jump_back(void)
{
    int code = setjmp(buffer);
    if (code)
        return say(code);
    deep(3);
    return 0;
}

static int fallthrough(int n)
{ LOUPE_PROCEDURE(29)
    switch (n) {
    case 1: { LOUPE_STATEMENT(30) say(1); } __attribute__((fallthrough));
    case 2: { LOUPE_LOOP(31) for (;;) { LOUPE_ITERATION(32) { if ((LOUPE_CALL(33), say(n))) return 2; } } }
    case 3: { LOUPE_STATEMENT(34) say(3); } /* fall through */
    default: { LOUPE_STATEMENT(35) say(4); }
    }
    return 0;
}

__attribute__((noreturn)) static void stop(int code)
{ LOUPE_PROCEDURE(36)
    { LOUPE_STATEMENT(37) say(code); }
    { LOUPE_STATEMENT(38) printf("\n"); }
    { LOUPE_STATEMENT(39) exit(code); }
}

static int checked(int n)
{ LOUPE_PROCEDURE(40)
    if (n > 100)
        { LOUPE_STATEMENT(41) stop(9); }
    switch (n) {
    case 1: return (LOUPE_CALL(42), say(n));
    default: { LOUPE_STATEMENT(43) stop(n); }
    }
}

static int local_labels(int n)
{
    __label__ end;
    if (n)
        goto end;
    say(1);
    say(2);
end:
    return say(n);
}

int main(void)
{ LOUPE_PROCEDURE(44)
    { LOUPE_STATEMENT(45) duff(7); }
    { LOUPE_STATEMENT(46) into(0); }
    { LOUPE_STATEMENT(47) into(1); }
    { LOUPE_STATEMENT(48) computed(0); }
    { LOUPE_STATEMENT(49) computed(1); }
    { LOUPE_STATEMENT(50) out_of(6); }
    { LOUPE_STATEMENT(51) out_of(99); }
    jump_back();
    { LOUPE_STATEMENT(52) fallthrough(1); }
    { LOUPE_STATEMENT(53) fallthrough(3); }
    local_labels(0);
    { LOUPE_STATEMENT(54) checked(1); }
    return (LOUPE_CALL(55), checked(5));
}
