/* expect: weft_make: the element type must be unqualified and no array */
#include <weft.h>

int start(void);

int
start(void)
{
	return weft_make(const int, 3) ? 0 : 1;
}
