/* expect: too few arguments */
#include <weft.h>

int start(struct weft_cond *c);

int
start(struct weft_cond *c)
{
	return weft_wait(c);
}
