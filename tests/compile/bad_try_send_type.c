/* expect: int-conversion */
#include <weft.h>

int start(weft_chan(long) ch);

int
start(weft_chan(long) ch)
{
	return weft_try_send(ch, "three");
}
