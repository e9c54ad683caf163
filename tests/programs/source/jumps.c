/* SPDX-License-Identifier: MIT */
/* Ways into and out of loops and procedures. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf buffer;

static int say(int x)
{
    printf("%d ", x);
    return x;
}

static int duff(int n)
{
    int turns = (n + 3) / 4, s = 0;
    switch (n % 4) {
    case 0:
        do {
            s += say(0);
        case 3: s += say(3);
        case 2: s += say(2);
        case 1: s += say(1);
        } while (--turns > 0);
    }
    return s;
}

static int into(int n)
{
    int i = 0;
    if (n)
        goto middle;
    for (i = 0; i < 3; i++) {
        say(i);
    middle:
        say(100 + i);
    }
    for (i = 0; i < 2; i++) {
        int k = 0;
    inner:
        if (say(k++) < 1)
            goto inner;
    }
    return n;
}

static int computed(int n)
{
    static void *const to[] = {&&zero, &&one};
    int i;
    for (i = 0; i < 2; i++) {
        goto *to[n & 1];
    zero:
        say(10);
        continue;
    one:
        say(11);
    }
    return n;
}

static int out_of(int n)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            if (say(i * j) == n)
                goto found;
            if (i == 3)
                return say(-1);
        }
    return 0;
found:
    return say(n);
}

static void deep(int n)
{
    say(n);
    if (n == 0)
        longjmp(buffer, 7);
    while (n > 0)
        deep(n - 1);
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
{
    switch (n) {
    case 1: say(1); __attribute__((fallthrough));
    case 2: for (;;) { if (say(n)) return 2; }
    case 3: say(3); /* fall through */
    default: say(4);
    }
    return 0;
}

__attribute__((noreturn)) static void stop(int code)
{
    say(code);
    printf("\n");
    exit(code);
}

static int checked(int n)
{
    if (n > 100)
        stop(9);
    switch (n) {
    case 1: return say(n);
    default: stop(n);
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
{
    duff(7);
    into(0);
    into(1);
    computed(0);
    computed(1);
    out_of(6);
    out_of(99);
    jump_back();
    fallthrough(1);
    fallthrough(3);
    local_labels(0);
    checked(1);
    return checked(5);
}
