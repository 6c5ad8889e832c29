/* A pointer that leads nowhere ends the process, and is named. Arguments: `nowhere`, or `before` or `behind` the memory of
 * a node; and `messages` or `same`, the way in which pages are shared. */
#include <string.h>

#include "fifth_dsm.h"

static int strays(fifth_dsm_node *node, void *argument) {
    const char *where = argument;
    char *memory = fifth_dsm_memory(node);
    size_t bytes = fifth_dsm_bytes(node);
    if (fifth_dsm_barrier(node) != 0) return 1;
    if (fifth_dsm_rank(node) == 1) {
        char *place = strcmp(where, "nowhere") == 0 ? (char *)16
                      : strcmp(where, "before") == 0 ? memory - 8
                                                     : memory + bytes;
        *(volatile double *)place = 1.5;
    }
    return fifth_dsm_barrier(node);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    fifth_dsm_options options = {.bytes = 4096, .messages = strcmp(argv[2], "messages") == 0};
    return fifth_dsm_run(3, &options, strays, argv[1]);
}
