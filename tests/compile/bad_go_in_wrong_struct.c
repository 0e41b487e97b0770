/* expect: weft: echo must be int echo(struct echo *) or int echo(void) */
#include <weft.h>

struct echo {
	int fd;
};
struct other {
	int fd;
};

int echo(struct other *a);

int start(struct weft_group *g);

int
start(struct weft_group *g)
{
	return weft_go_in(g, echo, .fd = 3) > 0;
}
