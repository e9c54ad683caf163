// SPDX-License-Identifier: MIT
// Ways out of procedures and loops that are no return: exceptions through several of them, caught
// and thrown again; and jumps over them.
#include "work.h"

#include <csetjmp>
#include <stdexcept>

static std::jmp_buf place;

static volatile int turns = 20;

static void deep(int n) // @deep
{
    work(1);
    for (int i = 0; i < turns; i++) // @loop
        if (i == 1) {
            if (n % 2)
                throw std::runtime_error("odd");
            work(1);
        }
}

static int middle(int n) // @middle
{
    try {
        deep(n); // @calls-deep
    } catch (const std::runtime_error &) {
        if (n % 4 == 3)
            throw;
        return 1;
    }
    return 0;
}

static void jumper(int n) // @jumper
{
    work(1);
    if (n % 3 == 0)
        std::longjmp(place, 1);
}

static void after() // @after
{
    work(2);
}

static int caught, rethrown, jumped;

static void try_all() // @try-all
{
    for (int n = 0; n < 40; n++) {
        try {
            caught += middle(n); // @calls-middle
        } catch (const std::exception &) {
            rethrown++;
        }
        after(); // @after-exception
    }
}

// Has no probes: variables of a procedure that calls setjmp are not to be touched.
static void jump_all()
{
    for (volatile int n = 0; n < 30; n = n + 1) {
        if (setjmp(place) == 0)
            jumper(n); // @calls-jumper
        else
            jumped++;
    }
}

int main()
{
    try_all();  // @calls-try
    jump_all(); // @calls-jump
    after();    // @after-jump
    printf("caught %d\nrethrown %d\njumped %d\n", caught, rethrown, jumped);
    return 0;
}
