/* expect: weft: f must be int f(struct f *) or int f(void) */
#include <weft.h>

struct echo {
	int fd;
};

int echo(struct echo *a);
int start(void);

int
start(void)
{
	int (*f)(struct echo *) = echo;

	return weft_go(f, .fd = 3) > 0;
}
