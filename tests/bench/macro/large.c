/* SPDX-License-Identifier: MIT */
/* Large procedures: tens of microseconds to milliseconds a call, as in a solver. */
#include "steps.h"

enum { BUILD = 400000, PATHS = 900000, PUSH = 60000, PRICES = 150000, CHECK = 30000 };

PROCEDURE(build_network, BUILD)
PROCEDURE(shortest_paths, PATHS)
PROCEDURE(push_flow, PUSH)
PROCEDURE(update_prices, PRICES)
PROCEDURE(check_capacities, CHECK)

int main(int argc, char **argv)
{
    static const struct procedure procedures[] = {
        {"build_network", build_network, BUILD, 1},
        {"shortest_paths", shortest_paths, PATHS, 2},
        {"push_flow", push_flow, PUSH, 10},
        {"update_prices", update_prices, PRICES, 4},
        {"check_capacities", check_capacities, CHECK, 20},
    };
    return serve(procedures, sizeof procedures / sizeof *procedures, argc, argv);
}
