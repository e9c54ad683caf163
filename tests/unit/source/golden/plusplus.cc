// SPDX-License-Identifier: MIT
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
{ LOUPE_PROCEDURE(0)
    live++;
    { LOUPE_STATEMENT(1) printf("made %d\n", v); }
}
Noisy::Noisy(const Noisy &other) : value(other.value) { LOUPE_PROCEDURE(2) live++; { LOUPE_STATEMENT(3) printf("copied %d\n", value); } }
Noisy::Noisy(Noisy &&other) noexcept : value(other.get()) { LOUPE_PROCEDURE(4) live++; { LOUPE_STATEMENT(5) printf("moved %d\n", value); } }
Noisy::~Noisy() { LOUPE_PROCEDURE(6) live--; { LOUPE_STATEMENT(7) printf("gone %d\n", value); } }
Noisy Noisy::twice() const { LOUPE_PROCEDURE(8) return Noisy(value * 2); }
Noisy Noisy::operator+(const Noisy &other) const
{ LOUPE_PROCEDURE(9)
    { LOUPE_STATEMENT(10) printf("add\n"); }
    return Noisy(value + other.value);
}
Noisy::operator int() const
{ LOUPE_PROCEDURE(11)
    { LOUPE_STATEMENT(12) printf("convert\n"); }
    return value;
}
int Noisy::kind() { LOUPE_PROCEDURE(13) { LOUPE_STATEMENT(14) printf("Noisy\n"); } return 1; }
int Noisy::count() { LOUPE_PROCEDURE(15) { LOUPE_STATEMENT(16) printf("%d live\n", live); } return live; }

struct Derived : Noisy {
    std::vector<int> items;
    Derived();
    int kind() override;
};
int base_value(int x) { LOUPE_PROCEDURE(17) { LOUPE_STATEMENT(18) printf("base %d\n", x); } return x; }
Derived::Derived() : Noisy(base_value(9)), items{base_value(1), base_value(2)}
{ LOUPE_PROCEDURE(19)
    { LOUPE_STATEMENT(20) printf("derived\n"); }
}
int Derived::kind() { LOUPE_PROCEDURE(21) return (LOUPE_CALL(22), Noisy::kind()) + 1; }

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
{ LOUPE_PROCEDURE(23)
    return Noisy(x);
}

static const Noisy &pass(const Noisy &x)
{ LOUPE_PROCEDURE(24)
    { LOUPE_STATEMENT(25) printf("pass %d\n", x.value); }
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
{ LOUPE_PROCEDURE(26)
    { LOUPE_STATEMENT(27) printf("special\n"); }
    return all.at(0);
}

namespace {
int hidden(int x)
{ LOUPE_PROCEDURE(28)
    { LOUPE_STATEMENT(29) printf("hidden %d\n", x); }
    return x;
}
} // namespace

namespace outer {
namespace inner {
int deep(int x) { LOUPE_PROCEDURE(30) return (LOUPE_CALL(31), hidden(x)) + (LOUPE_CALL(32), ::base_value(x)); }
} // namespace inner
} // namespace outer

static int may_throw(int x)
{ LOUPE_PROCEDURE(33)
    Noisy guard = (LOUPE_CALL(34), make(x));
    { LOUPE_LOOP(35) for (int i = 0; i < 3; i++) { LOUPE_ITERATION(36) {
        Noisy inside = (LOUPE_CALL(37), make(100 + i));
        if (i == x)
            throw std::runtime_error("thrown");
        if (i + 1 == x)
            return guard.get();
    } } }
    return 0;
}

static int catching()
{ LOUPE_PROCEDURE(38)
    int s = 0;
    { LOUPE_LOOP(39) for (int i = 0; i < 4; i++)
        { LOUPE_ITERATION(40) try {
            { LOUPE_STATEMENT(41) s += may_throw(i); }
        } catch (const std::exception &e) {
            (LOUPE_CALL(42), printf("caught %s\n", (LOUPE_CALL(43), e.what())));
        } } }
    return s;
}

static int temporaries()
{ LOUPE_PROCEDURE(44)
    // the temporary lives until the end of the full expression
    int n = (LOUPE_CALL(45), (LOUPE_CALL(46), pass((LOUPE_CALL(47), make(1)))).twice()).get();
    const Noisy &extended = (LOUPE_CALL(48), make(2));
    { LOUPE_STATEMENT(49) printf("extended %d\n", extended.value); }
    auto &&forwarded = (LOUPE_CALL(50), (LOUPE_CALL(51), make(3)).twice());
    (LOUPE_CALL(52), pass((LOUPE_CALL(53), make(4)) + (LOUPE_CALL(54), make(5))));
    Noisy direct = (LOUPE_CALL(55), make(6)), braced{(LOUPE_CALL(56), make(7))}, copy = (LOUPE_CALL(57), pass(direct));
    { LOUPE_STATEMENT(58) make(8); }
    static_cast<void>((LOUPE_CALL(59), make(9)));
    int converted = (LOUPE_CALL(60), make(10));
    std::string text = std::to_string((LOUPE_CALL(61), base_value(11))) + "!";
    static int once = base_value(12);
    { LOUPE_LOOP(62) for (char c : std::to_string((LOUPE_CALL(64), base_value(13))))
        { LOUPE_ITERATION(63) { LOUPE_STATEMENT(65) printf("%c\n", c); } } }
    { LOUPE_LOOP(66) for (const Noisy &x : {(LOUPE_CALL(68), make(14)), (LOUPE_CALL(69), make(15))})
        { LOUPE_ITERATION(67) { LOUPE_STATEMENT(70) pass(x); } } }
    if (Noisy condition = (LOUPE_CALL(71), make(16)); condition.value)
        { LOUPE_STATEMENT(72) pass(condition); }
    else
        (LOUPE_CALL(73), pass((LOUPE_CALL(74), make(17))));
    if (int v = (LOUPE_CALL(75), base_value(18)))
        n += v;
    { LOUPE_LOOP(76) while (int v = (LOUPE_CALL(78), base_value(0)))
        { LOUPE_ITERATION(77) n += v; } }
    switch (int v = base_value(1); v) {
    case square(1): { LOUPE_STATEMENT(79) n += base_value(19); } break;
    default: (LOUPE_CALL(80), pass((LOUPE_CALL(81), make(20))));
    }
    Noisy *heap = new Noisy((LOUPE_CALL(82), base_value(21)));
    delete heap;
    auto [first, second] = std::make_pair((LOUPE_CALL(83), base_value(22)), (LOUPE_CALL(84), base_value(23)));
    int array[square(2)] = {(LOUPE_CALL(85), base_value(24))};
    static_assert(sum(3) == 5, "");
    bool noexcept_call = noexcept(base_value(1));
    decltype(base_value(1)) typed = 1;
    return n + converted + static_cast<int>(text.size()) + forwarded.value + braced.value +
           copy.value + once + first + second + array[0] + noexcept_call + typed;
}

static int lambdas()
{ LOUPE_PROCEDURE(86)
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
{ LOUPE_PROCEDURE(87)
    Derived d;
    Noisy &n = d;
    Noisy *p = &d;
    int (Noisy::*method)() = &Noisy::kind;
    return (LOUPE_CALL(88), n.kind()) + (LOUPE_CALL(89), p->kind()) + (LOUPE_CALL(90), d.Noisy::kind()) + (LOUPE_CALL(91), (p->*method)()) + (LOUPE_CALL(92), Noisy::count()) +
           static_cast<int>(d.items.size());
}

decltype(auto) perfect(Noisy &x)
{ LOUPE_PROCEDURE(93)
    { LOUPE_STATEMENT(94) printf("perfect\n"); }
    return ((LOUPE_CALL(95), pass(x)));
}

int main()
{ LOUPE_PROCEDURE(96)
    Tried a(1);
    int s = (LOUPE_CALL(97), catching()) + (LOUPE_CALL(98), temporaries()) + (LOUPE_CALL(99), lambdas()) + (LOUPE_CALL(100), virtuals()) + (LOUPE_CALL(101), outer::inner::deep(2));
    s += biggest(std::vector<int>{1, (LOUPE_CALL(102), base_value(3)), 2}) + sum(4) + a.v;
    (LOUPE_CALL(103), printf("%s\n", (LOUPE_CALL(104), biggest(std::vector<const char *>{"x", "y"}))));
    Noisy last(7);
    s += (LOUPE_CALL(105), perfect(last)).value;
    { LOUPE_STATEMENT(106) printf("%d\n", s); }
    return (LOUPE_CALL(107), Noisy::count());
}
