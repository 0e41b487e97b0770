/* expect: incompatible-pointer-types */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	weft_chan(long) other = ch;

	return weft_close(other);
}
