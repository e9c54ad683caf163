// SPDX-License-Identifier: MIT
// FLAGS: -std=c++20
// The same in C++20.
#include <cstdio>

struct Noisy {
    int value;
    explicit Noisy(int v) : value(v) { printf("made %d\n", v); }
    Noisy(const Noisy &other) : value(other.value) { printf("copied %d\n", value); }
    Noisy(Noisy &&other) noexcept : value(other.value) { printf("moved %d\n", value); }
    ~Noisy() { printf("gone %d\n", value); }
};

static Noisy make(int x)
{ LOUPE_PROCEDURE(0)
    { LOUPE_STATEMENT(1) printf("make\n"); }
    return Noisy(x);
}

static void take(Noisy n, const Noisy &m)
{ LOUPE_PROCEDURE(2)
    { LOUPE_STATEMENT(3) printf("take %d %d\n", n.value, m.value); }
}

static Noisy hand_on(int x)
{ LOUPE_PROCEDURE(4)
    { LOUPE_STATEMENT(5) printf("hand on\n"); }
    return (LOUPE_CALL(6), make(x));
}

struct Holder {
    Noisy inside;
    explicit Holder(int x);
};

Holder::Holder(int x) : inside(make(x))
{ LOUPE_PROCEDURE(7)
    { LOUPE_STATEMENT(8) printf("holder\n"); }
}

int main()
{ LOUPE_PROCEDURE(9)
    Noisy a = (LOUPE_CALL(10), make(1)), b((LOUPE_CALL(11), make(2))), c{(LOUPE_CALL(12), make(3))};
    Noisy d = (LOUPE_CALL(13), hand_on(4));
    const Noisy &e = (LOUPE_CALL(14), make(5));
    (LOUPE_CALL(15), take((LOUPE_CALL(16), make(6)), (LOUPE_CALL(17), make(7))));
    Holder h(8);
    Noisy *p = new Noisy((LOUPE_CALL(18), make(9)));
    Noisy many[2] = {(LOUPE_CALL(19), make(10)), (LOUPE_CALL(20), make(11))};
    Noisy either = a.value ? (LOUPE_CALL(21), make(12)) : (LOUPE_CALL(22), make(13));
    delete p;
    try {
        throw (LOUPE_CALL(23), make(14));
    } catch (Noisy &n) {
        { LOUPE_STATEMENT(24) printf("caught %d\n", n.value); }
    }
    auto lambda = [](Noisy n) { return n.value; };
    return (lambda((LOUPE_CALL(25), make(15))) + a.value + b.value + c.value + d.value + e.value + h.inside.value + many[1].value + either.value) & 0;
}
