/* The yardstick of the benchmarks: about a second of list building and calls in plain C (cc -O2). KLIC's time for a
   benchmark divided by this program's time in the same run is in klic.csv. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef uint64_t word;
enum { NIL = 2, LIST = 3 };
static word *top;
static word cons(word car, word cdr) { word *p = top; top += 2; p[0] = car; p[1] = cdr; return (word)p | LIST; }
__attribute__((noinline)) static void append(word x, word y, word *out) {
    while ((x & 7) == LIST) { word *p = (word *)(x - LIST); word *c = top; top += 2; c[0] = p[0]; *out = (word)c | LIST; out = &c[1]; x = p[1]; }
    *out = y;
}
__attribute__((noinline)) static word nrev(word x) {
    if ((x & 7) != LIST) return NIL;
    word *p = (word *)(x - LIST), r = nrev(p[1]), last = cons(p[0], NIL), out;
    append(r, last, &out);
    return out;
}
__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) {
    word *input = malloc(64 << 10), *scratch = malloc(1 << 20), list = NIL, sum = 0;
    top = input;
    for (long i = 0; i < 240; i++) list = cons(i << 3 | 1, list);
    for (int i = 0; i < 12000; i++) { top = scratch; sum += *(word *)(nrev(list) - LIST); }
    printf("%lu %ld\n", (unsigned long)sum, fib(41));
    return 0;
}
