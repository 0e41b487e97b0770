/* expect: weft_len: the argument must be a channel */
#include <weft.h>

int start(void);

int
start(void)
{
	return (int)weft_len("three");
}
