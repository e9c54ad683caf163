// SPDX-License-Identifier: MIT
// ALSO: --all
// C++: methods, constructors, templates, lambdas, temporaries, exceptions, operators.
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

static int live;

struct Noisy {
    int value;
    explicit Noisy(int v);
    Noisy(const Noisy &other);
    Noisy(Noisy &&other) noexcept;
    ~Noisy();
    int get() const { return value; }
    Noisy twice() const;
    Noisy operator+(const Noisy &other) const;
    operator int() const;
    virtual int kind();
    static int count();
};

Noisy::Noisy(int v) : value(v)
{
    live++;
    printf("made %d\n", v);
}
Noisy::Noisy(const Noisy &other) : value(other.value) { live++; printf("copied %d\n", value); }
Noisy::Noisy(Noisy &&other) noexcept : value(other.get()) { live++; printf("moved %d\n", value); }
Noisy::~Noisy() { live--; printf("gone %d\n", value); }
Noisy Noisy::twice() const { return Noisy(value * 2); }
Noisy Noisy::operator+(const Noisy &other) const
{
    printf("add\n");
    return Noisy(value + other.value);
}
Noisy::operator int() const
{
    printf("convert\n");
    return value;
}
int Noisy::kind() { printf("Noisy\n"); return 1; }
int Noisy::count() { printf("%d live\n", live); return live; }

struct Derived : Noisy {
    std::vector<int> items;
    Derived();
    int kind() override;
};
int base_value(int x) { printf("base %d\n", x); return x; }
Derived::Derived() : Noisy(base_value(9)), items{base_value(1), base_value(2)}
{
    printf("derived\n");
}
int Derived::kind() { return Noisy::kind() + 1; }

struct Tried {
    int v;
    Tried(int x)
    try : v(base_value(x)) {
        if (x > 1)
            throw std::runtime_error("tried");
    } catch (const std::exception &e) {
        printf("%s\n", e.what());
    }
};

static Noisy make(int x)
{
    return Noisy(x);
}

static const Noisy &pass(const Noisy &x)
{
    printf("pass %d\n", x.value);
    return x;
}

constexpr int square(int x)
{
    return x * x;
}

constexpr int sum(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += square(i);
    return s;
}

template <typename T> T biggest(const std::vector<T> &all)
{
    T best = all.at(0);
    for (const T &x : all)
        if (x > best)
            best = x;
    return best;
}

template <> const char *biggest(const std::vector<const char *> &all)
{
    printf("special\n");
    return all.at(0);
}

namespace {
int hidden(int x)
{
    printf("hidden %d\n", x);
    return x;
}
} // namespace

namespace outer {
namespace inner {
int deep(int x) { return hidden(x) + ::base_value(x); }
} // namespace inner
} // namespace outer

static int may_throw(int x)
{
    Noisy guard = make(x);
    for (int i = 0; i < 3; i++) {
        Noisy inside = make(100 + i);
        if (i == x)
            throw std::runtime_error("thrown");
        if (i + 1 == x)
            return guard.get();
    }
    return 0;
}

static int catching()
{
    int s = 0;
    for (int i = 0; i < 4; i++)
        try {
            s += may_throw(i);
        } catch (const std::exception &e) {
            printf("caught %s\n", e.what());
        }
    return s;
}

static int temporaries()
{
    // the temporary lives until the end of the full expression
    int n = pass(make(1)).twice().get();
    const Noisy &extended = make(2);
    printf("extended %d\n", extended.value);
    auto &&forwarded = make(3).twice();
    pass(make(4) + make(5));
    Noisy direct = make(6), braced{make(7)}, copy = pass(direct);
    make(8);
    static_cast<void>(make(9));
    int converted = make(10);
    std::string text = std::to_string(base_value(11)) + "!";
    static int once = base_value(12);
    for (char c : std::to_string(base_value(13)))
        printf("%c\n", c);
    for (const Noisy &x : {make(14), make(15)})
        pass(x);
    if (Noisy condition = make(16); condition.value)
        pass(condition);
    else
        pass(make(17));
    if (int v = base_value(18))
        n += v;
    while (int v = base_value(0))
        n += v;
    switch (int v = base_value(1); v) {
    case square(1): n += base_value(19); break;
    default: pass(make(20));
    }
    Noisy *heap = new Noisy(base_value(21));
    delete heap;
    auto [first, second] = std::make_pair(base_value(22), base_value(23));
    int array[square(2)] = {base_value(24)};
    static_assert(sum(3) == 5, "");
    bool noexcept_call = noexcept(base_value(1));
    decltype(base_value(1)) typed = 1;
    return n + converted + static_cast<int>(text.size()) + forwarded.value + braced.value +
           copy.value + once + first + second + array[0] + noexcept_call + typed;
}

static int lambdas()
{
    int calls = 0;
    auto add = [&calls](int x) {
        calls++;
        for (int i = 0; i < x; i++)
            base_value(i);
        return base_value(x);
    };
    std::function<int(int)> erased = add;
    auto generic = [](auto x) { return base_value(x); };
    return add(1) + erased(2) + generic(3) + [](int y) { return hidden(y); }(4) + calls;
}

static int virtuals()
{
    Derived d;
    Noisy &n = d;
    Noisy *p = &d;
    int (Noisy::*method)() = &Noisy::kind;
    return n.kind() + p->kind() + d.Noisy::kind() + (p->*method)() + Noisy::count() +
           static_cast<int>(d.items.size());
}

decltype(auto) perfect(Noisy &x)
{
    printf("perfect\n");
    return (pass(x));
}

int main()
{
    Tried a(1);
    int s = catching() + temporaries() + lambdas() + virtuals() + outer::inner::deep(2);
    s += biggest(std::vector<int>{1, base_value(3), 2}) + sum(4) + a.v;
    printf("%s\n", biggest(std::vector<const char *>{"x", "y"}));
    Noisy last(7);
    s += perfect(last).value;
    printf("%d\n", s);
    return Noisy::count();
}
