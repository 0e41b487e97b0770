/* expect: weft_free: the argument must be a channel */
#include <weft.h>

int start(char *p);

int
start(char *p)
{
	weft_free(p);
	return 0;
}
