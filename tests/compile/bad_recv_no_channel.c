/* expect: weft_recv: the first argument must be a channel */
#include <weft.h>

int start(int fd);

int
start(int fd)
{
	int v;

	return weft_recv(fd, &v);
}
