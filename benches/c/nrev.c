/* What benches/nrev.kl1 computes, in C that allocates alike (cc -O2): a cell of two words for each element of a list,
   and one word for each result that another call reads. A reversal's cells are given back when it is done, where
   Fifth has a collector. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef uint64_t word;
enum { NIL = 2, LIST = 3, TAG = 7, ELEMENTS = 1000, TIMES = 2000 };
static word *top;
static word *words(word number) {
    word *first = top;
    top += number;
    return first;
}
static word cons(word head, word tail) {
    word *cell = words(2);
    cell[0] = head;
    cell[1] = tail;
    return (word)cell | LIST;
}
static word *parts(word list) { return (word *)(list - LIST); }
__attribute__((noinline)) static void append(word xs, word ys, word *zs) {
    while ((xs & TAG) == LIST) {
        word *cell = words(2);
        cell[0] = parts(xs)[0];
        *zs = (word)cell | LIST;
        zs = &cell[1];
        xs = parts(xs)[1];
    }
    *zs = ys;
}
__attribute__((noinline)) static void reverse(word xs, word *result) {
    if ((xs & TAG) != LIST) {
        *result = NIL;
        return;
    }
    word *rest = words(1);
    reverse(parts(xs)[1], rest);
    append(*rest, cons(parts(xs)[0], NIL), result);
}
int main(void) {
    size_t cells = 2 * ELEMENTS + ELEMENTS * (ELEMENTS + 1ul) + 3 * ELEMENTS;
    word *memory = malloc(cells * sizeof(word)), list = NIL, first = 0;
    if (!memory) return 1;
    top = memory;
    for (word n = 1; n <= ELEMENTS; n++) list = cons(n << 3 | 1, list);
    word *mark = top;
    for (int i = 0; i < TIMES; i++) {
        word result;
        top = mark;
        reverse(list, &result);
        first = parts(result)[0];
    }
    printf("%ld\n", (long)((int64_t)first >> 3));
    free(memory);
    return 0;
}
