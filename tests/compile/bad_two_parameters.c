/* expect: weft: echo must be int echo(struct echo *) or int echo(void) */
#include <weft.h>

struct echo {
	int fd;
};

int echo(struct echo *a, int b);
int start(void);

int
start(void)
{
	return weft_go(echo, .fd = 3) > 0;
}
