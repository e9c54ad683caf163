/* SPDX-License-Identifier: MIT */
/* Particles in cells: forces between those of neighbouring cells, a procedure for each pair. */
#include "watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 12, CELLS = SIDE * SIDE * SIDE, PER_CELL = 4, PARTICLES = CELLS * PER_CELL };

struct particle {
    double at[3], force[3], speed[3];
};

static struct particle particles[PARTICLES];

__attribute__((noinline)) static void pair(struct particle *a, const struct particle *b)
{
    double d[3], square = 1e-3;
    for (int k = 0; k < 3; k++) {
        d[k] = a->at[k] - b->at[k];
        d[k] -= SIDE * rint(d[k] / SIDE);
        square += d[k] * d[k];
    }
    double inverse = 1 / square, six = inverse * inverse * inverse;
    double f = square < 1 ? six * (six - 0.5) * inverse * 1e-9 : 0;
    for (int k = 0; k < 3; k++)
        a->force[k] += f * d[k];
}

static struct particle *cell(int x, int y, int z)
{
    x = (x + SIDE) % SIDE;
    y = (y + SIDE) % SIDE;
    z = (z + SIDE) % SIDE;
    return &particles[((x * SIDE + y) * SIDE + z) * PER_CELL];
}

__attribute__((noinline)) static void interact(struct particle *mine, struct particle *theirs)
{
    for (int i = 0; i < PER_CELL; i++)
        for (int j = 0; j < PER_CELL; j++)
            if (&mine[i] != &theirs[j])
                pair(&mine[i], &theirs[j]);
}

static void forces(void)
{
    for (int c = 0; c < CELLS; c++)
        for (int n = 0; n < 27; n++) {
            int x = c / SIDE / SIDE + n / 9 - 1, y = c / SIDE % SIDE + n / 3 % 3 - 1,
                z = c % SIDE + n % 3 - 1;
            interact(&particles[c * PER_CELL], cell(x, y, z));
        }
}

static void move(double step)
{
    for (int i = 0; i < PARTICLES; i++)
        for (int k = 0; k < 3; k++) {
            particles[i].speed[k] += step * particles[i].force[k];
            particles[i].at[k] += step * particles[i].speed[k];
            particles[i].force[k] = 0;
        }
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 120;
    for (int i = 0; i < PARTICLES; i++) {
        int c = i / PER_CELL, p = i % PER_CELL;
        double corner[3] = {c / SIDE / SIDE, c / SIDE % SIDE, c % SIDE};
        for (int k = 0; k < 3; k++)
            particles[i].at[k] = corner[k] + 0.2 + 0.13 * ((p * 7 + k * 3) % 5);
    }
    double begin = watch();
    for (int s = 0; s < steps; s++) {
        forces();
        move(1e-4);
    }
    double sum = 0;
    for (int i = 0; i < PARTICLES; i++)
        sum += particles[i].at[0];
    printf("seconds %.6f\nresult %.9f\n", watch() - begin, sum);
    return 0;
}
