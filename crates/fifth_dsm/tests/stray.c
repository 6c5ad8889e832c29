/* A pointer that leads nowhere ends the process, and is named. */
#include "fifth_dsm.h"

static int strays(fifth_dsm_node *node, void *argument) {
    (void)argument;
    if (fifth_dsm_rank(node) == 1) *(volatile double *)16 = 1.5;
    return 0;
}

int main(void) {
    fifth_dsm_options options = {.bytes = 4096, .messages = 1};
    return fifth_dsm_run(2, &options, strays, 0);
}
