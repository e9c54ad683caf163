/* SPDX-License-Identifier: MIT */
#include "runtime/options.h"

#include "record/layout.h"
#include "record/place.h"

#include <stdlib.h>
#include <string.h>

uint32_t options_peers(void)
{
    const char *text = getenv(PLACE_ENV_OPTIONS);
    static const char key[] = "peers=";
    for (const char *at = text; at && *at;) {
        if (!strncmp(at, key, sizeof key - 1)) {
            long n = strtol(at + sizeof key - 1, NULL, 10);
            if (n >= 1 && n <= 4096)
                return (uint32_t)n;
        }
        at = strpbrk(at, ", ");
        if (at)
            at++;
    }
    return RECORD_PEERS_MAX;
}
