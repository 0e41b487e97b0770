/* SPDX-License-Identifier: MIT */
/* redis.c: the server of the rows redis_*: examples/redis_cache.c as it is, on the port of server.h. */
#define main example_main
#include "../../examples/redis_cache.c"
#undef main

#include "server.h"

static int
cache(void)
{
	int listener = server_listen();

	make_tables();
	stop = weft_make(int, 1);
	weft_group(g, NULL) {
		weft_go_in(g, sweep);
		accept_all(&(struct accept_all){listener, g});
	}
	return 0;
}

int
main(void)
{
	bench_must("weft_run", weft_run(cache));
	return 0;
}
