/* Memory that nodes share, as if they had one: the C face of Fifth's crate `dsm`.
 *
 * A node is a thread of this process (fifth_dsm_run), or a process of an MPI job (fifth_dsm_join). Each node sees the
 * shared memory at an address of its own (fifth_dsm_memory) and reads and writes it with ordinary loads and stores:
 * page faults bring what is missing. Pointers into it mean nothing at another node: share offsets.
 *
 * What one node wrote before it gives back a lock or comes to a barrier, another one reads after it got that lock or
 * left that barrier. The unit is an aligned word of eight bytes: two nodes that touch one word, one of them to write,
 * with no lock or barrier in between, have a race, and read anything.
 *
 * Functions that answer an int answer 0, or FIFTH_DSM_FAILED: then fifth_dsm_error() says why. NULL for a node, for
 * options, a program or statistics is such a failure; each other function says what it answers then. After a failure
 * inside a program the run is lost: the program returns, and fifth_dsm_run fails with the node and the cause.
 *
 * A run fails, too, when
 *   - a program returns anything but 0, or returns while it has a lock;
 *   - a program waits at a barrier or for a lock, and the programs of all other nodes have returned, or wait as well, so
 *     that what it waits for never comes. Its call fails.
 *
 * A system call that is given a page that is not there (read(2) into it, say) answers EFAULT: call fifth_dsm_touch
 * before it. A pointer that leads outside the shared memory is named on standard error before the signal ends the
 * process, unless the process handles that itself. Before and behind the memory of each node lie 65,536 bytes that
 * nobody may touch: a pointer that runs beyond it reaches no other node's. FIFTH_DSM_FAULTS in the environment forces
 * how touches are noticed: userfaultfd or segv.
 *
 * Linux on x86-64 only. Link with -lfifth_dsm. */
#ifndef FIFTH_DSM_H
#define FIFTH_DSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIFTH_DSM_FAILED (-1)
/* The most nodes of one process. */
#define FIFTH_DSM_NODES_MAX 1024

/* A node of a run. It belongs to the thread whose program got it, and lives as long as the program. */
typedef struct fifth_dsm_node fifth_dsm_node;

/* What becomes of copies of a page whose changes are released. */
enum fifth_dsm_mode {
    FIFTH_DSM_INVALIDATE = 0, /* they are dropped, and fetched again when they are touched */
    FIFTH_DSM_UPDATE = 1      /* they are told the changes */
};

/* How a run is made: the same at all nodes. Zeros, but for `bytes`, are what is usual. */
typedef struct {
    /* Of shared memory, all zero at the beginning; rounded up to pages. At least 1, at most 2^32 - 1 pages, and no more
     * than the memory and swap of the host. */
    size_t bytes;
    size_t page_bytes; /* 0: 4,096. A multiple of the system's pages, below 524,288 */
    int mode;          /* enum fifth_dsm_mode */
    int messages;      /* 0: nodes of one host have the same pages. 1: pages go by messages between them, too */
    /* The home of a page: the node that has its newest version. NULL: the pages are dealt in equal blocks. */
    uint32_t (*home)(uint32_t page, uint32_t nodes, void *argument);
} fifth_dsm_options;

/* A program of a node. It returns 0; anything else fails the run. It must not leave by longjmp or an exception. */
typedef int (*fifth_dsm_program)(fifth_dsm_node *node, void *argument);

/* Runs a program on `nodes` nodes of this process, 1 to FIFTH_DSM_NODES_MAX, two threads each, and waits for all of
 * them. `argument` is handed to each node's program and to `home`. */
int fifth_dsm_run(uint32_t nodes, const fifth_dsm_options *options, fifth_dsm_program program, void *argument);
/* Runs this process's node, and waits until all nodes of the job are done: all processes of an MPI job call it
 * together, once. The library must have been built with its feature `mpi`. */
int fifth_dsm_join(const fifth_dsm_options *options, fifth_dsm_program program, void *argument);
/* Why the last function that failed in this thread has failed. Stays until the next call in this thread. */
const char *fifth_dsm_error(void);

/* What a node has done since the run began. The difference of two is what it did in a phase of its program. Times are
 * in nanoseconds; what is left of `time` without the four below it, the program has computed. With the same pages at
 * all nodes of a host (`messages` 0) nothing is fetched or sent. */
typedef struct {
    uint64_t time;          /* since the run began */
    uint64_t fetching;      /* of it, waiting for pages */
    uint64_t releasing;     /* waiting until what was written had been released */
    uint64_t barriers;      /* waiting for others in barriers */
    uint64_t locks;         /* waiting for locks */
    uint64_t misses;        /* pages that were absent when they were touched */
    uint64_t fetched_bytes; /* of these, as often as they came */
    uint64_t upgrades;      /* pages that were written while other nodes had them, too */
    uint64_t diffs;         /* pages whose changes were sent to their homes */
    uint64_t diff_bytes;    /* of these */
} fifth_dsm_stats;

/* Tells it. */
int fifth_dsm_get_stats(const fifth_dsm_node *node, fifth_dsm_stats *stats);

/* Which node this is, from 0, and how many there are. Of NULL: UINT32_MAX, and 0. */
uint32_t fifth_dsm_rank(const fifth_dsm_node *node);
uint32_t fifth_dsm_nodes(const fifth_dsm_node *node);
/* Where this node sees the shared memory, and the bytes of that. Of NULL: NULL, and 0. */
void *fifth_dsm_memory(const fifth_dsm_node *node);
size_t fifth_dsm_bytes(const fifth_dsm_node *node);
/* The next piece of the memory, from a page's beginning on; NULL if there is no room, or no node. Nodes that ask in the
 * same order get the same pieces. */
void *fifth_dsm_alloc(fifth_dsm_node *node, size_t bytes);

/* Waits until all nodes have come here. */
int fifth_dsm_barrier(fifth_dsm_node *node);
/* Waits until no other node has this lock (any number will do); gives it back. To want a lock that the node has, or to
 * give back one that it does not have, fails. */
int fifth_dsm_lock(fifth_dsm_node *node, uint32_t lock);
int fifth_dsm_unlock(fifth_dsm_node *node, uint32_t lock);
/* Fetches, all at once, the pages of these bytes that are missing; `writes`: they are going to be written. */
int fifth_dsm_touch(fifth_dsm_node *node, const void *start, size_t bytes, int writes);

#ifdef __cplusplus
}
#endif
#endif
