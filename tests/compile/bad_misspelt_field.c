/* expect: fdd */
#include <weft.h>

struct echo {
	int fd;
};

int echo(struct echo *a);
int start(void);

int
start(void)
{
	return weft_go(echo, .fdd = 3) > 0;
}
