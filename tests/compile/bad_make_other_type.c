/* expect: incompatible-pointer-types */
#include <weft.h>

int start(void);

int
start(void)
{
	weft_chan(long) ch = weft_make(int, 3);

	return weft_close(ch);
}
