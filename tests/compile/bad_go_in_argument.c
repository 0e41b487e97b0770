/* expect: int-conversion */
#include <weft.h>

struct echo {
	int fd;
};

int echo(struct echo *a);

int start(struct weft_group *g);

int
start(struct weft_group *g)
{
	return weft_go_in(g, echo, .fd = "three") > 0;
}
