/*
 * redis_cache.c: a cache that speaks the protocol of Redis (RESP2): redis-cli, redis-benchmark and
 * the clients of every language can use it.
 *
 *   redis_cache ADDR     a server, as: redis_cache :6379; then: redis-cli set greeting hello ex 60
 *   redis_cache          shows it with a client of its own
 *
 * It knows the commands of the table below, with the options EX PX NX XX of SET, and answers as
 * Redis does. Each client is a goroutine that reads a request, carries it out and answers, as if it
 * were alone. The keys are spread over 64 tables with a lock each; a command holds the locks of all
 * its keys, so that others see it as a whole. One more goroutine frees what has expired and is never
 * asked for. SIGTERM, SIGINT and SHUTDOWN cancel the group of all goroutines: who waits for a
 * request leaves, and the program ends when everybody has left.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <weft.h>

enum {
	SHARDS = 64,             /* as many as a uint64_t has bits */
	SWEEP_MS = 50,           /* one table after the other: each is swept every 3.2 s */
	BUFFER = 16 << 10,       /* of a client, for each direction, at first */
	ENOUGH = 64 << 10,       /* more answers are not held back */
	LONGEST_LINE = 64 << 10, /* the limits of Redis */
	LARGEST_VALUE = 512 << 20,
	LARGEST_REQUEST = 1 << 30,
};

/* ---- the tables */

struct entry {
	struct entry *next;
	uint64_t hash;
	int64_t expires; /* in ms, as now_ms() */
	size_t key_len, len;
	char data[]; /* the key, then the value */
};

static const int64_t NEVER = INT64_MAX;

static struct shard {
	struct weft_mutex lock;
	struct entry **bucket;
	size_t buckets, entries; /* buckets: a power of two */
} __attribute__((aligned(64))) shards[SHARDS];

/* An argument of a request: it lies in the client's buffer, and a 0 follows it. */
struct arg {
	char *text;
	size_t len;
	size_t at; /* from the begin of the request, as the buffer may move until all is there */
	uint64_t hash; /* of a key */
};

static int64_t
now_ms(void)
{
	return weft_now() / WEFT_MS;
}

static uint64_t seed; /* random, so that it is hard to fill one bucket on purpose */

/* Eight bytes at a time; each bit of a key changes every part of the hash. */
static uint64_t
hash_of(const char *text, size_t len)
{
	uint64_t h = seed ^ len;

	for (; len; text += 8, len -= len < 8 ? len : 8) {
		uint64_t word = 0;

		memcpy(&word, text, len < 8 ? len : 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15;
		h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
		h ^= h >> 29;
	}
	return h;
}

static struct shard *
shard_of(uint64_t hash)
{
	return &shards[hash >> 58];
}

/* link: what points to the entry. */
static void
drop(struct entry **link)
{
	struct entry *e = *link;

	*link = e->next;
	shard_of(e->hash)->entries--;
	free(e);
}

/* What points to the entry of this key, or NULL. One that has expired is freed by who finds it. */
static struct entry **
find(const struct arg *key)
{
	struct shard *s = shard_of(key->hash);
	struct entry **link = &s->bucket[key->hash & (s->buckets - 1)], *e;

	for (; (e = *link); link = &e->next)
		if (e->hash == key->hash && e->key_len == key->len &&
		    memcmp(e->data, key->text, key->len) == 0)
			break;
	if (e && e->expires != NEVER && e->expires <= now_ms()) {
		drop(link);
		e = NULL;
	}
	return e ? link : NULL;
}

/* More buckets; without memory for them the chains get longer. */
static void
resize(struct shard *s, size_t buckets)
{
	struct entry **bucket = calloc(buckets, sizeof(*bucket)), *e;

	if (!bucket)
		return;
	for (size_t i = 0; i < s->buckets; i++)
		while ((e = s->bucket[i])) {
			s->bucket[i] = e->next;
			e->next = bucket[e->hash & (buckets - 1)];
			bucket[e->hash & (buckets - 1)] = e;
		}
	free(s->bucket);
	s->bucket = bucket;
	s->buckets = buckets;
}

static void
make_tables(void)
{
	if (getrandom(&seed, sizeof(seed), 0) < 0)
		seed = (uint64_t)weft_now();
	for (int i = 0; i < SHARDS; i++)
		resize(&shards[i], 16);
}

/* False: no memory, and the key is as it was. */
static bool
put(const struct arg *key, const char *value, size_t len, int64_t expires)
{
	struct shard *s = shard_of(key->hash);
	struct entry **link = find(key), *e;

	e = realloc(link ? *link : NULL, sizeof(*e) + key->len + len);
	if (!e)
		return false;
	if (!link) {
		if (++s->entries > s->buckets)
			resize(s, s->buckets * 2);
		link = &s->bucket[key->hash & (s->buckets - 1)];
		e->next = *link;
		e->hash = key->hash;
		e->key_len = key->len;
		memcpy(e->data, key->text, key->len);
	}
	*link = e;
	e->len = len;
	e->expires = expires;
	memcpy(e->data + e->key_len, value, len);
	return true;
}

/* Frees what has expired by then. */
static void
sweep_shard(struct shard *s, int64_t then)
{
	weft_lock(&s->lock);
	for (size_t i = 0; i < s->buckets; i++)
		for (struct entry **link = &s->bucket[i]; *link;)
			if ((*link)->expires <= then)
				drop(link);
			else
				link = &(*link)->next;
	weft_unlock(&s->lock);
}

static int
sweep(void)
{
	struct weft_timer *ticker = weft_ticker(SWEEP_MS * WEFT_MS);

	for (size_t i = 0; weft_recv(weft_timer_chan(ticker), NULL) > 0; i++)
		sweep_shard(&shards[i % SHARDS], now_ms());
	weft_timer_free(ticker);
	return 0;
}

/* ---- a client and its buffers */

struct buffer {
	char *data;
	size_t len, size;
};

struct client {
	int fd;
	bool leaves; /* no further request */
	struct buffer in, out;
	size_t begin, at; /* of the request, and how far it has been read, in in.data */
	struct arg *arg;  /* the request */
	int args, args_size;
	const char *name; /* of the command */
};

static weft_chan(int) stop; /* a value ends the program */

/* Makes room for n more bytes. One that had to be large once, and is empty, does not stay so. */
static bool
reserve(struct buffer *b, size_t n)
{
	size_t size = b->size && (b->len || b->size <= ENOUGH) ? b->size : BUFFER;
	char *data;

	while (size - b->len < n)
		size *= 2;
	if (size == b->size)
		return true;
	data = realloc(b->data, size);
	if (data)
		*b = (struct buffer){data, b->len, size};
	return data;
}

static void
add(struct client *c, const void *data, size_t n)
{
	if (!reserve(&c->out, n)) {
		c->leaves = true;
		return;
	}
	memcpy(c->out.data + c->out.len, data, n);
	c->out.len += n;
}

/* Writes all answers. Who does not read them is waited for: nothing piles up for him. */
static bool
flush(struct client *c)
{
	size_t n = c->out.len;

	c->out.len = 0;
	return n == 0 || (weft_write(c->fd, c->out.data, n) > 0 && reserve(&c->out, 0));
}

/*
 * Reads more; false: there is no more. This is the one place where a client is waited for, so the
 * answers to all requests that came together are written here, together.
 */
static bool
fill(struct client *c)
{
	ssize_t n;

	if (!flush(c) || weft_cancelled())
		return false;
	c->in.len -= c->begin;
	c->at -= c->begin;
	if (c->begin > 0)
		memmove(c->in.data, c->in.data + c->begin, c->in.len);
	c->begin = 0;
	if (c->in.len >= LARGEST_REQUEST || !reserve(&c->in, 1))
		return false;
	n = weft_read(c->fd, c->in.data + c->in.len, c->in.size - c->in.len);
	if (n > 0)
		c->in.len += (size_t)n;
	return n > 0;
}

/* ---- answers */

static void
say(struct client *c, const char *text)
{
	add(c, text, strlen(text));
}

/* ":5", "$5", "*5": an integer, the length of a string, the length of a list. */
static void
say_number(struct client *c, char kind, int64_t n)
{
	char text[24], *p = text + sizeof(text);
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;

	*--p = '\n';
	*--p = '\r';
	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (n < 0)
		*--p = '-';
	*--p = kind;
	add(c, p, (size_t)(text + sizeof(text) - p));
}

static void
say_string(struct client *c, const char *text, size_t len)
{
	say_number(c, '$', (int64_t)len);
	add(c, text, len);
	add(c, "\r\n", 2);
}

static void
say_value(struct client *c, struct entry **link)
{
	if (link)
		say_string(c, (*link)->data + (*link)->key_len, (*link)->len);
	else
		say(c, "$-1\r\n");
}

__attribute__((format(printf, 2, 3))) static void
say_error(struct client *c, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	for (char *p = text; (p = strpbrk(p, "\r\n"));) /* from the client's own words */
		*p = ' ';
	say(c, "-");
	say(c, text);
	say(c, "\r\n");
}

/* ---- requests */

/* What cannot be understood is answered; what follows cannot be understood either. */
static bool
refuse(struct client *c, const char *why)
{
	say_error(c, "ERR Protocol error: %s", why);
	c->leaves = true;
	return false;
}

/* A number as Redis reads it: digits, perhaps a - before them, nothing else. */
static bool
number(const char *text, size_t len, int64_t *n)
{
	bool minus = len > 0 && text[0] == '-';

	*n = 0;
	if (len == (size_t)minus || (text[minus] == '0' && len > 1))
		return false;
	for (size_t i = minus; i < len; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(*n, 10, n) ||
		    __builtin_add_overflow(*n, minus ? -digit : digit, n))
			return false;
	}
	return true;
}

/* The next line, ended by a 0; NULL: there is none. */
static char *
read_line(struct client *c, size_t *len, const char *if_too_long)
{
	char *line, *end;

	while (!(end = memchr(c->in.data + c->at, '\n', c->in.len - c->at))) {
		if (c->in.len - c->at > LONGEST_LINE)
			refuse(c, if_too_long);
		if (c->leaves || !fill(c))
			return NULL;
	}
	line = c->in.data + c->at;
	c->at += (size_t)(end - line) + 1;
	if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	*len = (size_t)(end - line);
	return line;
}

/* at: where it begins, in in.data. */
static bool
add_arg(struct client *c, size_t at, size_t len)
{
	if (c->args == c->args_size) {
		int size = c->args_size ? c->args_size * 2 : 8;
		struct arg *arg = realloc(c->arg, (size_t)size * sizeof(*arg));

		if (!arg)
			return false;
		c->arg = arg;
		c->args_size = size;
	}
	c->arg[c->args++] = (struct arg){.at = at - c->begin, .len = len};
	return true;
}

/* "$3\r\nGET\r\n". The buffer grows with what comes, not with what is announced. */
static bool
read_arg(struct client *c)
{
	size_t len;
	char *line = read_line(c, &len, "too big bulk count string");
	char unexpected[] = "expected '$', got '?'";
	int64_t size;

	if (!line)
		return false;
	if (*line != '$') {
		unexpected[sizeof(unexpected) - 3] = *line ? *line : ' ';
		return refuse(c, unexpected);
	}
	if (!number(line + 1, len - 1, &size) || size < 0 || size > LARGEST_VALUE)
		return refuse(c, "invalid bulk length");
	while (c->in.len - c->at < (size_t)size + 2)
		if (!fill(c))
			return false;
	c->at += (size_t)size + 2;
	return add_arg(c, c->at - (size_t)size - 2, (size_t)size);
}

/* "*2\r\n" and so many arguments, or a line of words as one types it: "GET greeting\r\n". */
static bool
read_request(struct client *c)
{
	bool typed;
	size_t len;
	char *line;
	int64_t n;

	c->begin = c->at;
	c->args = 0;
	if (c->at == c->in.len && !fill(c))
		return false;
	typed = c->in.data[c->at] != '*';
	line = read_line(c, &len, typed ? "too big inline request" : "too big mbulk count string");
	if (!line)
		return false;
	if (typed) {
		for (; (len = strcspn(line += strspn(line, " \t"), " \t")); line += len)
			if (!add_arg(c, (size_t)(line - c->in.data), len))
				return false;
		n = 0;
	} else if (!number(line + 1, len - 1, &n) || n > INT32_MAX)
		return refuse(c, "invalid multibulk length");
	while (n-- > 0)
		if (!read_arg(c))
			return false;
	for (struct arg *a = c->arg; a < c->arg + c->args; a++) {
		a->text = c->in.data + c->begin + a->at;
		a->text[a->len] = '\0';
	}
	return true;
}

/* ---- commands: each has the locks of its keys, and says one answer */

static bool
is(const struct arg *a, const char *word)
{
	return a->len == strlen(word) && strcasecmp(a->text, word) == 0;
}

static void
say_wrong_count(struct client *c)
{
	say_error(c, "ERR wrong number of arguments for '%s' command", c->name);
}

/* The time at which an argument's so many units end, in ms. */
static bool
expiry_of(struct client *c, const struct arg *a, int64_t unit_ms, bool past_too, int64_t *ms)
{
	int64_t now = now_ms();

	if (!number(a->text, a->len, ms))
		say_error(c, "ERR value is not an integer or out of range");
	else if (__builtin_mul_overflow(*ms, unit_ms, ms) || __builtin_add_overflow(*ms, now, ms) ||
		 *ms == NEVER || (*ms <= now && !past_too))
		say_error(c, "ERR invalid expire time in '%s' command", c->name);
	else
		return true;
	return false;
}

/* Stores the first arguments: a key, its value, perhaps more of them. */
static void
put_pairs(struct client *c, int pairs, int64_t expires)
{
	for (struct arg *a = c->arg + 1; pairs > 0; pairs--, a += 2)
		if (!put(&a[0], a[1].text, a[1].len, expires)) {
			say_error(c, "OOM no memory for this value");
			return;
		}
	say(c, "+OK\r\n");
}

static void
get(struct client *c)
{
	say_value(c, find(&c->arg[1]));
}

static void
set(struct client *c)
{
	int64_t expires = NEVER, unit = 0;
	bool nx = false, xx = false;
	int time = 0;

	for (int i = 3; i < c->args; i++) {
		const struct arg *a = &c->arg[i];

		if (is(a, "nx") && !xx) {
			nx = true;
		} else if (is(a, "xx") && !nx) {
			xx = true;
		} else if ((is(a, "ex") || is(a, "px")) && !time && i + 1 < c->args) {
			unit = is(a, "ex") ? 1000 : 1;
			time = ++i;
		} else {
			say_error(c, "ERR syntax error");
			return;
		}
	}
	if (time && !expiry_of(c, &c->arg[time], unit, false, &expires))
		return;
	if ((nx || xx) && xx != (find(&c->arg[1]) != NULL))
		say(c, "$-1\r\n");
	else
		put_pairs(c, 1, expires);
}

static void
mget(struct client *c)
{
	say_number(c, '*', c->args - 1);
	for (int i = 1; i < c->args; i++)
		say_value(c, find(&c->arg[i]));
}

static void
mset(struct client *c)
{
	if (c->args % 2 == 0)
		say_wrong_count(c);
	else
		put_pairs(c, c->args / 2, NEVER);
}

static void
del(struct client *c) /* and exists */
{
	int64_t count = 0;

	for (int i = 1; i < c->args; i++) {
		struct entry **link = find(&c->arg[i]);

		count += link != NULL;
		if (link && is(&c->arg[0], "del"))
			drop(link);
	}
	say_number(c, ':', count);
}

static void
incr(struct client *c) /* and decr */
{
	struct entry **link = find(&c->arg[1]);
	int64_t n = 0, expires = link ? (*link)->expires : NEVER;
	char text[24];

	if (link && !number((*link)->data + (*link)->key_len, (*link)->len, &n))
		say_error(c, "ERR value is not an integer or out of range");
	else if (__builtin_add_overflow(n, is(&c->arg[0], "incr") ? 1 : -1, &n))
		say_error(c, "ERR increment or decrement would overflow");
	else if (put(&c->arg[1], text, (size_t)sprintf(text, "%lld", (long long)n), expires))
		say_number(c, ':', n);
	else
		say_error(c, "OOM no memory for this value");
}

static void
expire(struct client *c) /* and pexpire */
{
	struct entry **link;
	int64_t expires;

	if (!expiry_of(c, &c->arg[2], is(&c->arg[0], "expire") ? 1000 : 1, true, &expires))
		return;
	link = find(&c->arg[1]);
	if (link) {
		(*link)->expires = expires;
		find(&c->arg[1]); /* frees it if that is past */
	}
	say_number(c, ':', link != NULL);
}

static void
ttl(struct client *c) /* and pttl */
{
	struct entry **link = find(&c->arg[1]);
	int64_t ms = link ? (*link)->expires - now_ms() : 0;

	if (!link || (*link)->expires == NEVER)
		say_number(c, ':', link ? -1 : -2);
	else
		say_number(c, ':', is(&c->arg[0], "ttl") ? (ms + 500) / 1000 : ms);
}

static void
persist(struct client *c)
{
	struct entry **link = find(&c->arg[1]);
	bool mortal = link && (*link)->expires != NEVER;

	if (mortal)
		(*link)->expires = NEVER;
	say_number(c, ':', mortal);
}

static void
dbsize(struct client *c)
{
	size_t n = 0;

	for (int i = 0; i < SHARDS; i++)
		n += shards[i].entries;
	say_number(c, ':', (int64_t)n);
}

static void
flushall(struct client *c)
{
	for (int i = 0; i < SHARDS; i++)
		for (size_t k = 0; k < shards[i].buckets; k++)
			while (shards[i].bucket[k])
				drop(&shards[i].bucket[k]);
	say(c, "+OK\r\n");
}

static void
ping(struct client *c) /* and echo */
{
	if (c->args > 2)
		say_wrong_count(c);
	else if (c->args == 2)
		say_string(c, c->arg[1].text, c->arg[1].len);
	else
		say(c, "+PONG\r\n");
}

static void
select_db(struct client *c)
{
	if (is(&c->arg[1], "0"))
		say(c, "+OK\r\n");
	else
		say_error(c, "ERR DB index is out of range");
}

static void
hello(struct client *c)
{
	if (c->args > 1 && !is(&c->arg[1], "2")) {
		say_error(c, "NOPROTO unsupported protocol version");
		return;
	}
	say(c, "*6\r\n$6\r\nserver\r\n$11\r\nredis_cache\r\n$7\r\nversion\r\n");
	say_string(c, weft_version(), strlen(weft_version()));
	say(c, "$5\r\nproto\r\n:2\r\n");
}

/* Clients look for what they know of the server. There are no settings, so each is empty. */
static void
config(struct client *c) /* and command */
{
	bool settings = is(&c->arg[0], "config");

	if (settings && c->args == 3 && is(&c->arg[1], "get")) {
		say_number(c, '*', 2);
		say_string(c, c->arg[2].text, c->arg[2].len);
		say_string(c, "", 0);
	} else if (c->args == 1 && !settings)
		say(c, "*0\r\n");
	else
		say_error(c, "ERR unknown subcommand '%.128s'.", c->arg[1].text);
}

static void
quit(struct client *c) /* and shutdown */
{
	c->leaves = true;
	if (is(&c->arg[0], "shutdown"))
		weft_try_send(stop, 1);
	else
		say(c, "+OK\r\n");
}

enum { NO_KEY, ONE_KEY, KEYS, PAIRS, ALL }; /* what is locked */

static const struct command {
	const char *name;
	void (*run)(struct client *);
	int args; /* with the name; -3: at least three */
	int keys;
} commands[] = {
    {"get", get, 2, ONE_KEY},         {"set", set, -3, ONE_KEY},    {"mget", mget, -2, KEYS},
    {"mset", mset, -3, PAIRS},        {"del", del, -2, KEYS},       {"exists", del, -2, KEYS},
    {"incr", incr, 2, ONE_KEY},       {"decr", incr, 2, ONE_KEY},   {"expire", expire, 3, ONE_KEY},
    {"pexpire", expire, 3, ONE_KEY},  {"ttl", ttl, 2, ONE_KEY},     {"pttl", ttl, 2, ONE_KEY},
    {"persist", persist, 2, ONE_KEY}, {"dbsize", dbsize, 1, ALL},   {"flushall", flushall, -1, ALL},
    {"flushdb", flushall, -1, ALL},   {"ping", ping, -1, NO_KEY},   {"echo", ping, 2, NO_KEY},
    {"select", select_db, 2, NO_KEY}, {"hello", hello, -1, NO_KEY}, {"config", config, -2, NO_KEY},
    {"command", config, -1, NO_KEY},  {"quit", quit, -1, NO_KEY},   {"shutdown", quit, -1, NO_KEY},
};

static const struct command *
command_of(const struct arg *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if ((*name->text | 32) == *commands[i].name && is(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static void
say_unknown(struct client *c)
{
	char text[300] = "";
	size_t n = 0;

	for (int i = 1; i < c->args && n < 128; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "'%.*s' ", (int)(128 - n),
				      c->arg[i].text);
	say_error(c, "ERR unknown command '%.128s', with args beginning with: %s", c->arg[0].text,
		  text);
}

/* Locks are taken in the order of the tables, so nobody waits for one who waits for him. */
static void
carry_out(struct client *c)
{
	const struct command *cmd = command_of(&c->arg[0]);
	uint64_t locks = 0;
	int last;

	if (!cmd) {
		say_unknown(c);
		return;
	}
	c->name = cmd->name;
	if (cmd->args < 0 ? c->args < -cmd->args : c->args != cmd->args) {
		say_wrong_count(c);
		return;
	}
	last = cmd->keys == KEYS || cmd->keys == PAIRS ? c->args - 1 : cmd->keys == ONE_KEY;
	for (int i = 1; i <= last; i += cmd->keys == PAIRS ? 2 : 1) {
		struct arg *a = &c->arg[i];

		a->hash = hash_of(a->text, a->len);
		locks |= UINT64_C(1) << (shard_of(a->hash) - shards);
	}
	if (cmd->keys == ALL)
		locks = UINT64_MAX;
	for (uint64_t rest = locks; rest; rest &= rest - 1)
		weft_lock(&shards[__builtin_ctzll(rest)].lock);
	cmd->run(c);
	for (; locks; locks &= locks - 1)
		weft_unlock(&shards[__builtin_ctzll(locks)].lock);
}

/* ---- the server */

struct serve {
	int fd;
};

static int
serve(struct serve *a)
{
	struct client c = {.fd = a->fd};

	while (!c.leaves && read_request(&c)) {
		if (c.args > 0)
			carry_out(&c);
		if (c.out.len > ENOUGH && !flush(&c))
			break;
	}
	if (flush(&c) && c.leaves) {
		/* What is still unread when we close would take the last answer with it. */
		shutdown(c.fd, SHUT_WR);
		weft_timeout(WEFT_SEC)
			for (int i = 0; i < 100 && weft_read(c.fd, c.in.data, c.in.size) > 0; i++)
				;
	}
	weft_close_fd(c.fd);
	free(c.in.data);
	free(c.out.data);
	free(c.arg);
	return 0;
}

struct accept_all {
	int listener;
	struct weft_group *g;
};

static int
accept_all(struct accept_all *a)
{
	int fd;

	while ((fd = weft_accept(a->listener)) != -ECANCELED)
		if (fd < 0)
			fprintf(stderr, "accept: %s\n", strerror(-fd));
		else if (weft_go_in(a->g, serve, fd) < 0)
			weft_close_fd(fd);
	return 0;
}

/* Several requests at once, and then all that is said to them. */
static int
show(const char *addr)
{
	static const char ask[] =
	    "SET greeting hello EX 60\nGET greeting\nTTL greeting\nINCR visits\n"
	    "MGET greeting visits nothing\nFROBNICATE\nQUIT\n";
	weft_autofd int fd = weft_dial("tcp", addr);
	char answer[512];
	ssize_t n = fd < 0 ? fd : weft_write(fd, ask, sizeof(ask) - 1);

	if (n > 0)
		n = weft_read_full(fd, answer, sizeof(answer));
	if (n > 0)
		printf("%s\n%.*s", ask, (int)n, answer);
	return n > 0 ? 0 : -EIO;
}

struct app {
	const char *addr;
};

static int
app(struct app *a)
{
	weft_chan(int) term = weft_signal_chan(SIGTERM), intr = weft_signal_chan(SIGINT);
	weft_autofd int listener = weft_listen("tcp", a->addr ? a->addr : "127.0.0.1:0");
	char addr[64];
	int rc = 0;

	if (listener < 0) {
		const char *why = a->addr ? weft_addr_error("tcp", a->addr) : NULL;

		fprintf(stderr, "listen: %s\n", why ? why : strerror(-listener));
		return 1;
	}
	make_tables();
	stop = weft_make(int, 1);
	weft_local_addr(listener, addr, sizeof(addr));
	printf("cache on %s\n", addr);
	fflush(stdout);
	weft_group(g, NULL) {
		weft_go_in(g, accept_all, listener, g);
		weft_go_in(g, sweep);
		if (!a->addr)
			rc = show(addr);
		else
			weft_select(WEFT_RECV(term, NULL), WEFT_RECV(intr, NULL),
				    WEFT_RECV(stop, NULL));
		weft_cancel(g);
	}
	weft_free(term);
	weft_free(intr);
	weft_free(stop);
	return rc < 0;
}

int
main(int argc, char **argv)
{
	return weft_run(app, argc > 1 ? argv[1] : NULL);
}
