// SPDX-License-Identifier: MIT
// FLAGS: -std=c++17
// OPTIONS: --all
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
    int get() const { LOUPE_PROCEDURE(0) return value; }
    Noisy twice() const;
    Noisy operator+(const Noisy &other) const;
    operator int() const;
    virtual int kind();
    static int count();
};

Noisy::Noisy(int v) : value(v)
{ LOUPE_PROCEDURE(1)
    live++;
    { LOUPE_STATEMENT(2) printf("made %d\n", v); }
}
Noisy::Noisy(const Noisy &other) : value(other.value) { LOUPE_PROCEDURE(3) live++; { LOUPE_STATEMENT(4) printf("copied %d\n", value); } }
Noisy::Noisy(Noisy &&other) noexcept : value(other.get()) { LOUPE_PROCEDURE(5) live++; { LOUPE_STATEMENT(6) printf("moved %d\n", value); } }
Noisy::~Noisy() { LOUPE_PROCEDURE(7) live--; { LOUPE_STATEMENT(8) printf("gone %d\n", value); } }
Noisy Noisy::twice() const { LOUPE_PROCEDURE(9) return Noisy(value * 2); }
Noisy Noisy::operator+(const Noisy &other) const
{ LOUPE_PROCEDURE(10)
    { LOUPE_STATEMENT(11) printf("add\n"); }
    return Noisy(value + other.value);
}
Noisy::operator int() const
{ LOUPE_PROCEDURE(12)
    { LOUPE_STATEMENT(13) printf("convert\n"); }
    return value;
}
int Noisy::kind() { LOUPE_PROCEDURE(14) { LOUPE_STATEMENT(15) printf("Noisy\n"); } return 1; }
int Noisy::count() { LOUPE_PROCEDURE(16) { LOUPE_STATEMENT(17) printf("%d live\n", live); } return live; }

struct Derived : Noisy {
    std::vector<int> items;
    Derived();
    int kind() override;
};
int base_value(int x) { LOUPE_PROCEDURE(18) { LOUPE_STATEMENT(19) printf("base %d\n", x); } return x; }
Derived::Derived() : Noisy(base_value(9)), items{base_value(1), base_value(2)}
{ LOUPE_PROCEDURE(20)
    { LOUPE_STATEMENT(21) printf("derived\n"); }
}
int Derived::kind() { LOUPE_PROCEDURE(22) return (LOUPE_CALL(23), Noisy::kind()) + 1; }

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
{ LOUPE_PROCEDURE(24)
    return Noisy(x);
}

static const Noisy &pass(const Noisy &x)
{ LOUPE_PROCEDURE(25)
    { LOUPE_STATEMENT(26) printf("pass %d\n", x.value); }
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
{ LOUPE_PROCEDURE(27)
    T best = (LOUPE_CALL(28), all.at(0));
    { LOUPE_LOOP(29) for (const T &x : all)
        if (x > best)
            best = x; }
    return best;
}

template <> const char *biggest(const std::vector<const char *> &all)
{ LOUPE_PROCEDURE(30)
    { LOUPE_STATEMENT(31) printf("special\n"); }
    return all.at(0);
}

namespace {
int hidden(int x)
{ LOUPE_PROCEDURE(32)
    { LOUPE_STATEMENT(33) printf("hidden %d\n", x); }
    return x;
}
} // namespace

namespace outer {
namespace inner {
int deep(int x) { LOUPE_PROCEDURE(34) return (LOUPE_CALL(35), hidden(x)) + (LOUPE_CALL(36), ::base_value(x)); }
} // namespace inner
} // namespace outer

static int may_throw(int x)
{ LOUPE_PROCEDURE(37)
    Noisy guard = (LOUPE_CALL(38), make(x));
    { LOUPE_LOOP(39) for (int i = 0; i < 3; i++) { LOUPE_ITERATION(40) {
        Noisy inside = (LOUPE_CALL(41), make(100 + i));
        if (i == x)
            throw std::runtime_error("thrown");
        if (i + 1 == x)
            return (LOUPE_CALL(42), guard.get());
    } } }
    return 0;
}

static int catching()
{ LOUPE_PROCEDURE(43)
    int s = 0;
    { LOUPE_LOOP(44) for (int i = 0; i < 4; i++)
        { LOUPE_ITERATION(45) try {
            { LOUPE_STATEMENT(46) s += may_throw(i); }
        } catch (const std::exception &e) {
            (LOUPE_CALL(47), printf("caught %s\n", (LOUPE_CALL(48), e.what())));
        } } }
    return s;
}

static int temporaries()
{ LOUPE_PROCEDURE(49)
    // the temporary lives until the end of the full expression
    int n = (LOUPE_CALL(50), (LOUPE_CALL(51), (LOUPE_CALL(52), pass((LOUPE_CALL(53), make(1)))).twice()).get());
    const Noisy &extended = (LOUPE_CALL(54), make(2));
    { LOUPE_STATEMENT(55) printf("extended %d\n", extended.value); }
    auto &&forwarded = (LOUPE_CALL(56), (LOUPE_CALL(57), make(3)).twice());
    (LOUPE_CALL(58), pass((LOUPE_CALL(59), make(4)) + (LOUPE_CALL(60), make(5))));
    Noisy direct = (LOUPE_CALL(61), make(6)), braced{(LOUPE_CALL(62), make(7))}, copy = (LOUPE_CALL(63), pass(direct));
    { LOUPE_STATEMENT(64) make(8); }
    static_cast<void>((LOUPE_CALL(65), make(9)));
    int converted = (LOUPE_CALL(66), make(10));
    std::string text = std::to_string((LOUPE_CALL(67), base_value(11))) + "!";
    static int once = base_value(12);
    { LOUPE_LOOP(68) for (char c : std::to_string((LOUPE_CALL(70), base_value(13))))
        { LOUPE_ITERATION(69) { LOUPE_STATEMENT(71) printf("%c\n", c); } } }
    { LOUPE_LOOP(72) for (const Noisy &x : {(LOUPE_CALL(74), make(14)), (LOUPE_CALL(75), make(15))})
        { LOUPE_ITERATION(73) { LOUPE_STATEMENT(76) pass(x); } } }
    if (Noisy condition = (LOUPE_CALL(77), make(16)); condition.value)
        { LOUPE_STATEMENT(78) pass(condition); }
    else
        (LOUPE_CALL(79), pass((LOUPE_CALL(80), make(17))));
    if (int v = (LOUPE_CALL(81), base_value(18)))
        n += v;
    { LOUPE_LOOP(82) while (int v = (LOUPE_CALL(84), base_value(0)))
        { LOUPE_ITERATION(83) n += v; } }
    switch (int v = base_value(1); v) {
    case square(1): { LOUPE_STATEMENT(85) n += base_value(19); } break;
    default: (LOUPE_CALL(86), pass((LOUPE_CALL(87), make(20))));
    }
    Noisy *heap = new Noisy((LOUPE_CALL(88), base_value(21)));
    delete heap;
    auto [first, second] = std::make_pair((LOUPE_CALL(89), base_value(22)), (LOUPE_CALL(90), base_value(23)));
    int array[square(2)] = {(LOUPE_CALL(91), base_value(24))};
    static_assert(sum(3) == 5, "");
    bool noexcept_call = noexcept(base_value(1));
    decltype(base_value(1)) typed = 1;
    return n + converted + static_cast<int>(text.size()) + forwarded.value + braced.value +
           copy.value + once + first + second + array[0] + noexcept_call + typed;
}

static int lambdas()
{ LOUPE_PROCEDURE(92)
    int calls = 0;
    auto add = [&calls](int x) { LOUPE_PROCEDURE(93)
        calls++;
        { LOUPE_LOOP(94) for (int i = 0; i < x; i++)
            { LOUPE_ITERATION(95) { LOUPE_STATEMENT(96) base_value(i); } } }
        return (LOUPE_CALL(97), base_value(x));
    };
    std::function<int(int)> erased = add;
    auto generic = [](auto x) { LOUPE_PROCEDURE(98) return (LOUPE_CALL(99), base_value(x)); };
    return add(1) + erased(2) + generic(3) + [](int y) { LOUPE_PROCEDURE(100) return (LOUPE_CALL(101), hidden(y)); }(4) + calls;
}

static int virtuals()
{ LOUPE_PROCEDURE(102)
    Derived d;
    Noisy &n = d;
    Noisy *p = &d;
    int (Noisy::*method)() = &Noisy::kind;
    return (LOUPE_CALL(103), n.kind()) + (LOUPE_CALL(104), p->kind()) + (LOUPE_CALL(105), d.Noisy::kind()) + (LOUPE_CALL(106), (p->*method)()) + (LOUPE_CALL(107), Noisy::count()) +
           static_cast<int>(d.items.size());
}

decltype(auto) perfect(Noisy &x)
{ LOUPE_PROCEDURE(108)
    { LOUPE_STATEMENT(109) printf("perfect\n"); }
    return ((LOUPE_CALL(110), pass(x)));
}

int main()
{ LOUPE_PROCEDURE(111)
    Tried a(1);
    int s = (LOUPE_CALL(112), catching()) + (LOUPE_CALL(113), temporaries()) + (LOUPE_CALL(114), lambdas()) + (LOUPE_CALL(115), virtuals()) + (LOUPE_CALL(116), outer::inner::deep(2));
    s += (LOUPE_CALL(117), biggest(std::vector<int>{1, (LOUPE_CALL(118), base_value(3)), 2})) + sum(4) + a.v;
    (LOUPE_CALL(119), printf("%s\n", (LOUPE_CALL(120), biggest(std::vector<const char *>{"x", "y"}))));
    Noisy last(7);
    s += (LOUPE_CALL(121), perfect(last)).value;
    { LOUPE_STATEMENT(122) printf("%d\n", s); }
    return (LOUPE_CALL(123), Noisy::count());
}
