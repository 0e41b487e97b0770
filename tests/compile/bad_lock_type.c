/* expect: incompatible-pointer-types */
#include <weft.h>

int start(struct weft_rwmutex *m);

int
start(struct weft_rwmutex *m)
{
	return weft_lock(m);
}
