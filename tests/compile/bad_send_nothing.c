/* expect: expected expression */
#include <weft.h>

int start(weft_chan(int) ch);

int
start(weft_chan(int) ch)
{
	return weft_send(ch);
}
