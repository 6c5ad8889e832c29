/* What benches/fib.kl1 computes, in C that allocates alike (cc -O2): a cell for each of the two results of a call.
   A call gives its cells back when it returns, where Fifth has a collector. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef uint64_t word;
static word *top;
static word *variable(void) {
    word *cell = top++;
    *cell = (word)cell;
    return cell;
}
static word integer(int64_t n) { return (word)n << 3 | 1; }
static int64_t value(word integer) { return (int64_t)integer >> 3; }
__attribute__((noinline)) static void sum(word *x, word *y, word *z) { *z = integer(value(*x) + value(*y)); }
__attribute__((noinline)) static void fib(word n, word *f) {
    if (value(n) < 2) {
        *f = n;
        return;
    }
    word *mark = top, *f1 = variable(), *f2 = variable();
    fib(integer(value(n) - 1), f1);
    fib(integer(value(n) - 2), f2);
    sum(f1, f2, f);
    top = mark;
}
int main(void) {
    word *cells = malloc(1 << 16), f;
    if (!cells) return 1;
    top = cells;
    fib(integer(40), &f);
    printf("%ld\n", (long)value(f));
    free(cells);
    return 0;
}
