/* expect: weft: tick takes no arguments */
#include <weft.h>

static int
tick(void)
{
	return 0;
}

int
main(void)
{
	return weft_go(tick, 3) > 0;
}
