/* Multiplies two matrices that the nodes share: each computes a block of rows.
 *
 *     cargo build --release -p fifth_dsm
 *     cc -O2 -I crates/fifth_dsm/include crates/fifth_dsm/examples/matmul.c target/release/libfifth_dsm.a -lm -o matmul
 *     ./matmul 2 256
 *
 * The library built with `--features mpi` and linked by `mpicc` runs processes: `mpirun -n 2 ./matmul mpi 256`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fifth_dsm.h"

static double element(size_t row, size_t column) { return (double)((row * 31 + column * 17) % 101) - 50.0; }

static int program(fifth_dsm_node *node, void *argument) {
    size_t n = *(size_t *)argument, bytes = n * n * sizeof(double);
    double *a = fifth_dsm_alloc(node, bytes), *b = fifth_dsm_alloc(node, bytes), *c = fifth_dsm_alloc(node, bytes);
    if (!a || !b || !c) return 1;
    size_t me = fifth_dsm_rank(node), nodes = fifth_dsm_nodes(node);
    size_t begin = n * me / nodes, end = n * (me + 1) / nodes;
    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = element(i, j);
            b[i * n + j] = element(j, i);
        }
    if (fifth_dsm_barrier(node) != 0) return 2;
    /* All of b at once, instead of a page fault for each of its pages. */
    if (fifth_dsm_touch(node, b, bytes, 0) != 0) return 2;
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
    if (fifth_dsm_barrier(node) != 0) return 2;
    if (me == 0) {
        double trace = 0.0;
        for (size_t i = 0; i < n; i++) trace += c[i * n + i];
        printf("%zu nodes, trace %.1f\n", nodes, trace);
    }
    return 0;
}

int main(int argc, char **argv) {
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 128;
    int processes = argc > 1 && strcmp(argv[1], "mpi") == 0;
    uint32_t nodes = argc > 1 && !processes ? (uint32_t)strtoul(argv[1], NULL, 10) : 2;
    fifth_dsm_options options = {.bytes = 3 * (n * n * sizeof(double) + 4096)};
    int code = processes ? fifth_dsm_join(&options, program, &n) : fifth_dsm_run(nodes, &options, program, &n);
    if (code != 0) {
        fprintf(stderr, "matmul: %s\n", fifth_dsm_error());
        return 1;
    }
    return 0;
}
