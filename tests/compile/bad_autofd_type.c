/* expect: weft_autofd */
#include <weft.h>

int start(void);

int
start(void)
{
	weft_autofd long fd = 3;

	return (int)fd;
}
