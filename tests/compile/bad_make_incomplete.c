/* expect: incomplete */
#include <weft.h>

struct unknown;

int start(void);

int
start(void)
{
	return weft_make(struct unknown, 3) ? 0 : 1;
}
