/* expect: int-conversion */
#include <weft.h>

int start(void);

int
start(void)
{
	weft_timeout("1s")
		return 1;
	return 0;
}
