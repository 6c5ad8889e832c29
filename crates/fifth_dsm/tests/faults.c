/* What the header promises: each check that fails ends the program with its line. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fifth_dsm.h"

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            abort();                                                             \
        }                                                                        \
    } while (0)

enum { NODES = 3, ROUNDS = 100 };

static int counts(fifth_dsm_node *node, void *argument) {
    (void)argument;
    uint64_t *count = fifth_dsm_alloc(node, sizeof *count);
    double *far = fifth_dsm_alloc(node, 5 * 4096);
    CHECK(count == fifth_dsm_memory(node) && (char *)far == (char *)count + 4096);
    CHECK(fifth_dsm_bytes(node) == 6 * 4096 && fifth_dsm_nodes(node) == NODES);
    CHECK(fifth_dsm_alloc(node, 1) == NULL && strstr(fifth_dsm_error(), "no room for 1 bytes"));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(fifth_dsm_lock(node, 7) == 0);
        *count += 1;
        CHECK(fifth_dsm_unlock(node, 7) == 0);
    }
    far[fifth_dsm_rank(node)] = 0.5;
    CHECK(fifth_dsm_barrier(node) == 0);
    CHECK(*count == NODES * ROUNDS);
    CHECK(fifth_dsm_touch(node, far, 5 * 4096, 0) == 0);
    CHECK(far[0] + far[1] + far[2] == 1.5);
    fifth_dsm_stats stats;
    CHECK(fifth_dsm_get_stats(node, &stats) == 0 && fifth_dsm_get_stats(node, NULL) == FIFTH_DSM_FAILED);
    CHECK(stats.time > stats.fetching + stats.releasing + stats.barriers + stats.locks);
    CHECK(stats.fetched_bytes >= 4096 * stats.misses && stats.diff_bytes >= 8 * stats.diffs);
    CHECK(fifth_dsm_touch(node, far, 5 * 4096 + 1, 0) == FIFTH_DSM_FAILED);
    CHECK(fifth_dsm_touch(node, argument, 8, 0) == FIFTH_DSM_FAILED);
    CHECK(fifth_dsm_unlock(node, 7) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "does not have lock 7"));
    CHECK(fifth_dsm_lock(node, 8 + fifth_dsm_rank(node)) == 0);
    CHECK(fifth_dsm_lock(node, 8 + fifth_dsm_rank(node)) == FIFTH_DSM_FAILED);
    CHECK(strstr(fifth_dsm_error(), "already"));
    CHECK(fifth_dsm_unlock(node, 8 + fifth_dsm_rank(node)) == 0);
    return 0;
}

/* The last node returns, and all others wait for what only it can bring. */
static int returns(fifth_dsm_node *node, void *argument) {
    const char *what = argument;
    uint32_t me = fifth_dsm_rank(node);
    if (strcmp(what, "with a lock") == 0) {
        return me == NODES - 1 ? fifth_dsm_lock(node, 5) : 0;
    } else if (strcmp(what, "before a barrier") == 0) {
        if (me == NODES - 1) return 0;
        CHECK(fifth_dsm_barrier(node) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "barrier"));
    } else if (strcmp(what, "before the second barrier") == 0) {
        CHECK(fifth_dsm_barrier(node) == 0);
        if (me == NODES - 1) return 0;
        CHECK(fifth_dsm_barrier(node) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "barrier"));
    } else {
        /* Nobody returns: each has what the next one wants. */
        CHECK(fifth_dsm_lock(node, me) == 0 && fifth_dsm_barrier(node) == 0);
        CHECK(fifth_dsm_lock(node, (me + 1) % NODES) == FIFTH_DSM_FAILED);
    }
    return 1;
}

static void ends_in_an_error(int messages) {
    static const char *const told[][2] = {{"with a lock", "node 2: its program has ended with lock 5"},
                                          {"before a barrier", ": its program waits at a barrier"},
                                          {"before the second barrier", ": its program waits at a barrier"},
                                          {"in a circle", ": its program waits for lock "}};
    fifth_dsm_options options = {.bytes = 4096, .messages = messages};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        CHECK(fifth_dsm_run(NODES, &options, returns, (void *)told[i][0]) == FIFTH_DSM_FAILED);
        CHECK(strstr(fifth_dsm_error(), told[i][1]));
    }
}

/* A system call does not bring pages. The only page has its home at node 1. */
static int system_calls(fifth_dsm_node *node, void *argument) {
    (void)argument;
    char *page = fifth_dsm_alloc(node, 4096);
    if (fifth_dsm_rank(node) == 0) {
        int file = open("/dev/zero", O_RDONLY);
        CHECK(file >= 0 && read(file, page, 4096) == -1 && errno == EFAULT);
        CHECK(fifth_dsm_touch(node, page, 4096, 1) == 0 && read(file, page, 4096) == 4096);
        close(file);
    }
    return 0;
}

/* Node 1 gives up; the others wait at a barrier, and hear of it. */
static int gives_up(fifth_dsm_node *node, void *argument) {
    (void)argument;
    if (fifth_dsm_rank(node) == 1) return 42;
    CHECK(fifth_dsm_barrier(node) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "another node has failed"));
    return 1;
}

static int nothing(fifth_dsm_node *node, void *argument) { return node == NULL || argument != NULL; }

static void refuses_numbers(int messages) {
    fifth_dsm_options usual = {.bytes = 8, .messages = messages};
    const uint32_t nodes[] = {0, FIFTH_DSM_NODES_MAX + 1, 1 << 24, UINT32_MAX};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        CHECK(fifth_dsm_run(nodes[i], &usual, nothing, NULL) == FIFTH_DSM_FAILED);
        CHECK(strstr(fifth_dsm_error(), " nodes "));
    }
    /* More than a host has, up to more than there are addresses. */
    for (int bits = 45; bits < 64; bits++) {
        fifth_dsm_options large = {.bytes = (size_t)1 << bits, .page_bytes = 1 << 18, .messages = messages};
        CHECK(fifth_dsm_run(2, &large, nothing, NULL) == FIFTH_DSM_FAILED && strlen(fifth_dsm_error()) > 20);
        large.page_bytes = 0;
        CHECK(fifth_dsm_run(2, &large, nothing, NULL) == FIFTH_DSM_FAILED && strlen(fifth_dsm_error()) > 20);
    }
    const size_t pages[] = {1, 8, 72, 4095, 4097, 1 << 19, SIZE_MAX, SIZE_MAX - 4095};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        fifth_dsm_options odd = {.bytes = 8, .page_bytes = pages[i], .messages = messages};
        CHECK(fifth_dsm_run(1, &odd, nothing, NULL) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "pages of "));
    }
    /* On a host with more memory than that it just runs. */
    fifth_dsm_options terabyte = {.bytes = (size_t)1 << 40, .messages = messages};
    if (fifth_dsm_run(2, &terabyte, nothing, NULL) != 0) CHECK(strstr(fifth_dsm_error(), "1099511627776 bytes"));
}

static void refuses_null(void) {
    fifth_dsm_options usual = {.bytes = 8};
    fifth_dsm_stats stats;
    CHECK(fifth_dsm_run(1, NULL, nothing, NULL) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "no options"));
    CHECK(fifth_dsm_run(1, &usual, NULL, NULL) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "no program"));
    CHECK(fifth_dsm_join(NULL, nothing, NULL) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "no options"));
    CHECK(fifth_dsm_join(&usual, NULL, NULL) == FIFTH_DSM_FAILED && strstr(fifth_dsm_error(), "no program"));
#define NO_NODE(call) CHECK(call); CHECK(strstr(fifth_dsm_error(), "no node")); fifth_dsm_run(1, NULL, NULL, NULL)
    NO_NODE(fifth_dsm_get_stats(NULL, &stats) == FIFTH_DSM_FAILED);
    NO_NODE(fifth_dsm_rank(NULL) == UINT32_MAX);
    NO_NODE(fifth_dsm_nodes(NULL) == 0);
    NO_NODE(fifth_dsm_memory(NULL) == NULL);
    NO_NODE(fifth_dsm_bytes(NULL) == 0);
    NO_NODE(fifth_dsm_alloc(NULL, 8) == NULL);
    NO_NODE(fifth_dsm_barrier(NULL) == FIFTH_DSM_FAILED);
    NO_NODE(fifth_dsm_lock(NULL, 1) == FIFTH_DSM_FAILED);
    NO_NODE(fifth_dsm_unlock(NULL, 1) == FIFTH_DSM_FAILED);
    NO_NODE(fifth_dsm_touch(NULL, NULL, 8, 0) == FIFTH_DSM_FAILED);
}
static uint32_t last(uint32_t page, uint32_t nodes, void *argument) { return page + (argument ? nodes : 1); }

int main(void) {
    for (int kind = 0; kind < 4; kind++) {
        fifth_dsm_options options = {.bytes = 5 * 4096 + 1, .mode = kind % 2, .messages = kind / 2};
        if (fifth_dsm_run(NODES, &options, counts, NULL) != 0) {
            fprintf(stderr, "%s\n", fifth_dsm_error());
            return 1;
        }
        CHECK(fifth_dsm_run(NODES, &options, gives_up, NULL) == FIFTH_DSM_FAILED);
        CHECK(strstr(fifth_dsm_error(), "node 1: its program returned 42"));
    }
    fifth_dsm_options messages = {.bytes = 4096, .messages = 1, .home = last};
    CHECK(fifth_dsm_run(2, &messages, system_calls, NULL) == 0);
    fifth_dsm_options homes = {.bytes = 2 * 4096, .home = last};
    CHECK(fifth_dsm_run(NODES, &homes, nothing, NULL) == 0);
    CHECK(fifth_dsm_run(2, &homes, nothing, NULL) == FIFTH_DSM_FAILED);
    CHECK(strstr(fifth_dsm_error(), "home at node 2 of 2"));
    fifth_dsm_options wrong[] = {{0}, {.bytes = 8, .page_bytes = 100}, {.bytes = 8, .page_bytes = 72, .messages = 1},
                                 {.bytes = 8, .mode = 2}, {.bytes = (size_t)1 << 60}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(fifth_dsm_run(1, &wrong[i], nothing, NULL) == FIFTH_DSM_FAILED);
        CHECK(strlen(fifth_dsm_error()) > 10);
    }
    for (int messages = 0; messages < 2; messages++) {
        refuses_numbers(messages);
        ends_in_an_error(messages);
    }
    refuses_null();
    puts("all checks passed");
    return 0;
}
