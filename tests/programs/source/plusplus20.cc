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
{
    printf("make\n");
    return Noisy(x);
}

static void take(Noisy n, const Noisy &m)
{
    printf("take %d %d\n", n.value, m.value);
}

static Noisy hand_on(int x)
{
    printf("hand on\n");
    return make(x);
}

struct Holder {
    Noisy inside;
    explicit Holder(int x);
};

Holder::Holder(int x) : inside(make(x))
{
    printf("holder\n");
}

int main()
{
    Noisy a = make(1), b(make(2)), c{make(3)};
    Noisy d = hand_on(4);
    const Noisy &e = make(5);
    take(make(6), make(7));
    Holder h(8);
    Noisy *p = new Noisy(make(9));
    Noisy many[2] = {make(10), make(11)};
    Noisy either = a.value ? make(12) : make(13);
    delete p;
    try {
        throw make(14);
    } catch (Noisy &n) {
        printf("caught %d\n", n.value);
    }
    auto lambda = [](Noisy n) { return n.value; };
    return (lambda(make(15)) + a.value + b.value + c.value + d.value + e.value + h.inside.value + many[1].value + either.value) & 0;
}
