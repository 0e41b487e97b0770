/* expect: weft_send: the first argument must be a channel */
#include <weft.h>

int start(int fd);

int
start(int fd)
{
	return weft_send(fd, 1);
}
