/* expect: weft: echo must be int echo(struct echo *) or int echo(void) */
#include <weft.h>

struct echo {
	int fd;
};

void echo(struct echo *a);

int start(struct weft_group *g);

int
start(struct weft_group *g)
{
	return weft_go_in(g, echo, .fd = 3) > 0;
}
