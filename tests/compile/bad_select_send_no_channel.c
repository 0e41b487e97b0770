/* expect: WEFT_SEND: the first argument must be a channel */
#include <weft.h>

int start(char *p);

int
start(char *p)
{
	return weft_select(WEFT_SEND(p, 1));
}
