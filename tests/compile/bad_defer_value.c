/* expect: int-conversion */
#include <weft.h>

void put(int fd);

int start(int fd);

int
start(int fd)
{
	weft_defer(put, fd);
	return 0;
}
