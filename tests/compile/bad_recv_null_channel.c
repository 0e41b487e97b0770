/* expect: weft_recv: the first argument must be a channel */
#include <weft.h>

int start(void);

int
start(void)
{
	int v;

	return weft_recv(NULL, &v);
}
