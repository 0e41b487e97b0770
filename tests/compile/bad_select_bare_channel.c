/* expect: int-conversion */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	return weft_select(ch);
}
