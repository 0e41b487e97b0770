/* expect: larger than WEFT_ARG_MAX; pass a pointer */
#include <weft.h>

struct echo {
	char text[WEFT_ARG_MAX + 1];
};

int echo(struct echo *a);
int start(void);

int
start(void)
{
	return weft_go(echo, "hello") > 0;
}
