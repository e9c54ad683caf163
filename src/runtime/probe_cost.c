/* SPDX-License-Identifier: MIT */
/* What a timed visit costs, measured at the start on a site of our own. */
#include "runtime/probe.h"

#include "runtime/clock.h"

#include <cpuid.h>

struct probe_costs probe_costs;
bool loupe_probe_xsave;
