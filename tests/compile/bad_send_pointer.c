/* expect: int-conversion */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	int v = 3;

	return weft_send(ch, &v);
}
