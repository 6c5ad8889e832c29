/* Predicates in C for spelling.kl1: the distance of two words, which is a loop over arrays of bytes. */
#include "fifth_foreign.h"
#include <stdlib.h>

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* words:distance(A,B,D): so many letters are to be changed, added or left out to make B of A. */
static int distance(fifth_args *args) {
    size_t sizes[2];
    const char *a = fifth_text(fifth_arg(args, 0), &sizes[0]), *b = fifth_text(fifth_arg(args, 1), &sizes[1]);
    if (!a || !b) return FIFTH_ERROR;
    size_t *row = malloc((sizes[1] + 1) * sizeof *row);
    if (!row) return fifth_fail(args, "there is no memory for a row");
    for (size_t j = 0; j <= sizes[1]; j++) row[j] = j;
    for (size_t i = 1; i <= sizes[0]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= sizes[1]; j++) {
            size_t changed = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            row[j] = least(changed, least(row[j], row[j - 1]) + 1);
        }
    }
    size_t found = row[sizes[1]];
    free(row);
    return fifth_set_integer(args, 2, (int64_t)found);
}

FIFTH_LIBRARY("words", 0, {"distance", "iio", distance})
