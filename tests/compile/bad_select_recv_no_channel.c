/* expect: WEFT_RECV: the first argument must be a channel */
#include <weft.h>

int start(int fd);

int
start(int fd)
{
	int v;

	return weft_select(WEFT_RECV(fd, &v));
}
