/* expect: pointer type */
#include <weft.h>

int init(const char *name);

int start(struct weft_once *o);

int
start(struct weft_once *o)
{
	return weft_once(o, init);
}
