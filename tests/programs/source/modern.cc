// SPDX-License-Identifier: MIT
// FLAGS: -std=c++20
// ALSO: --all
// C++20, templates of all kinds, attributes, packs, classes in procedures.
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#define LOG(x)        log(#x, x)
#define CHECK(...)    do { if (!(__VA_ARGS__)) std::puts(#__VA_ARGS__); } while (0)
#define TEST(name)    struct name##_test { int run(); }; int name##_test::run()
#define CONSTEXPR     constexpr

static int log(const char *text, int x)
{
    std::printf("%s %d\n", text, x);
    return x;
}

static int say(int x)
{
    std::printf("%d\n", x);
    return x;
}

consteval int twice(int x) { return x * 2; }
CONSTEXPR int hidden_constant(int x) { return x + twice(2); }

template <typename T> concept Number = std::is_arithmetic_v<T> && requires(T t) { t + say(1); };

template <Number T> T add(T a, T b)
{
    constexpr int bits = hidden_constant(1);
    if constexpr (std::is_same_v<T, int> && hidden_constant(1) == 5)
        return a + b + say(bits);
    else
        return a + b;
}

template <typename... Ts> int pack(Ts... all)
{
    int parts[] = {say(all)...};
    (say(all), ...);
    return (say(all) + ... + parts[0]);
}

template <int N, typename T = int> struct Box {
    T items[N];
    int field = say(N);
    Box();
    int sum() const
    {
        int s = 0;
        for (int i = 0; i < N; i++)
            s += say(items[i]);
        return s;
    }
    template <typename F> int each(F f);
    friend int open(const Box &b) { return say(b.items[0]); }
    struct Inner {
        int go(int x) { return say(x) + say(N); }
    };
    int operator()(int x) { return say(x); }
    static int shared(int x) { return say(x); }
};

template <int N, typename T> Box<N, T>::Box() : items{say(N)}
{
    say(field);
}

template <int N, typename T> template <typename F> int Box<N, T>::each(F f)
{
    int s = 0;
    for (auto &x : items)
        s += f(x);
    return s;
}

template <> struct Box<0, int> {
    int sum();
};

int Box<0, int>::sum() { return say(0); }

struct Point {
    int x, y;
    auto operator<=>(const Point &) const = default;
    Point &operator+=(const Point &o);
    explicit operator bool() const { return say(x) != 0; }
    static void *operator new(std::size_t size) { say(1); return ::operator new(size); }
    static void operator delete(void *p) { say(2); ::operator delete(p); }
    Point *operator->() { return this; }
    int dot(const Point &o) const;
};

Point &Point::operator+=(const Point &o) { x += say(o.x); y += o.y; return *this; }
int Point::dot(const Point &o) const { return say(x * o.x + y * o.y); }
int operator""_units(unsigned long long v) { return say(static_cast<int>(v)); }

static const auto global = [](int x) { return say(x) + 1; };

constexpr auto constant = [](int x) { return x * 2 + 1; };
static_assert(constant(2) == 5);

static auto trailing(int x) -> decltype(say(x)) { return say(x) + say(2); }

[[nodiscard]] static int attributes(int n)
{
    [[maybe_unused]] int unused = say(n);
    if (n > 1) [[likely]]
        say(1);
    else [[unlikely]]
        for (int i = 0; i < n; i++) say(i);
    for (int i = 0; i < n; i++) [[likely]] { say(i); }
    switch (n) {
    case 1: say(1); [[fallthrough]];
    case 2: say(2); break;
    [[unlikely]] default: say(3);
    }
    for (std::vector<int> v{1, say(2)}; int x : v)
        say(x);
    for (int x : std::initializer_list<int>{say(4), 5}) { say(x); }
    return n;
}

static int local_class(int n)
{
    struct Local {
        int value = say(3);
        int get(int x) { return say(x) + say(value); }
    } local;
    auto recursive = [&](auto &&self, int k) -> int { return k ? self(self, say(k) - 1) : 0; };
    return local.get(n) + recursive(recursive, 2);
}

static int macros(int n)
{
    LOG(say(n));
    CHECK(say(1) == 1, [&] { return say(2); }() == 0);
    return LOG(n) + LOG([](int x) { for (int i = 0; i < x; i++) say(i); return x; }(2));
}

TEST(first)
{
    for (int i = 0; i < 2; i++)
        say(i);
    return say(9);
}

static int choose(int n)
{
    return n ? say(1) : throw say(2);
}

static Point braced(int n) { return {say(n), say(n + 1)}; }

int main()
{
    Box<2> box;
    Box<0> empty;
    Box<2>::Inner inner;
    auto p = std::make_unique<Point>(Point{1, 2});
    Point *q = new Point{say(3), 4};
    *p += *q;
    if (*q) say(5);
    int s = add(1, 2) + static_cast<int>(add(1.5, 2.5)) + pack(1, 2, 3) + box.sum() + open(box);
    s += box.each([](int x) { return say(x); }) + inner.go(1) + box(3) + Box<3>::shared(4) + empty.sum();
    s += p->dot(*q) + (*q)->dot(*p) + (*p < *q) + 7_units + global(1) + trailing(2);
    delete q;
    s += attributes(2) + local_class(3) + macros(4) + first_test().run() + braced(1).y;
    try {
        s += choose(1) + choose(0);
    } catch (int x) {
        s += say(x);
    }
    std::printf("%d\n", s);
    return 0;
}
