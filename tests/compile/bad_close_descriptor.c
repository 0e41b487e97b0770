/* expect: weft_close: the argument must be a channel */
#include <weft.h>

int start(int fd);

int
start(int fd)
{
	return weft_close(fd);
}
