/* expect: weft: echo must be int echo(struct echo *) or int echo(void) */
#include <weft.h>

int echo(void *a);
int start(void);

int
start(void)
{
	return weft_go(echo) > 0;
}
