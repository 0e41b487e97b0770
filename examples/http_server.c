/*
 * http_server.c: an HTTP/1.1 server to start from, in plain blocking C: one goroutine per connection.
 *
 *   http_server [options] ADDR    as: http_server -d public :8080
 *     -d FOLDER    whose files it serves (.)        -t SECONDS   for a request to come (10)
 *     -k SECONDS   that an idle client stays (60)   -g SECONDS   to finish, once told to stop (10)
 *     -m BYTES     of a request's body (8388608)    -v           print a line for each answer
 *   http_server                   shows it with a client of its own
 *
 * GET /hello answers with a greeting, POST or PUT /echo with what it was sent, while it comes; all
 * else is a file. Requests are parsed by http_parser, an installed library:
 * weft: needs http_parser.h -lhttp_parser (apt-get: libhttp-parser-dev)
 * As Debian builds it, it does not look at the two bytes that end a chunk, which may matter behind a
 * proxy. Its successor is llhttp, if your system has it; the callbacks are much the same.
 *
 * To make it yours, write a handler like hello() or echo() and add it to routes[].
 *
 *   time      Every wait is inside a weft_timeout: for the next request, for the rest of its head, for
 *             each part of its body, for each part of an answer. A client that is late gets 408.
 *   size      The head of a request must fit into the buffer of its connection (431, 414), its body
 *             into -m bytes (413). A connection takes 50 KiB at most.
 *   the end   Upon SIGTERM the group of all connections is cancelled: those that wait for a request
 *             end at once. A request that has begun is answered inside a weft_shield, which no
 *             cancellation gets through.
 */
#include <errno.h>
#include <fcntl.h>
#include <http_parser.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <weft.h>

enum {
	HEAD_MAX = 16384,    /* bytes of the first line and the headers */
	URL_MAX = 4096,      /* bytes */
	HEADERS_MAX = 64,    /* lines */
	PIECE = 8192,        /* bytes of a body that are handled at a time */
	FILE_PIECE = 262144, /* bytes of a file to be sent within one time-out */
	OUT_ROOM = 4096,     /* bytes of answers that wait to be sent together */
	BODY_SLOWER = 6,     /* a whole body may take so many times -t */
	CONNECTIONS = 10000, /* at once; more wait in the kernel */
	DATE_ROOM = 32,
};

static struct {
	int dir;
	int64_t request_ns, idle_ns, grace_ns;
	uint64_t body_max;
	bool log;
} options = {
    .request_ns = 10 * WEFT_SEC,
    .idle_ns = 60 * WEFT_SEC,
    .grace_ns = 10 * WEFT_SEC,
    .body_max = 8 << 20,
};

static atomic_bool stopping; /* clients are told not to come again */

struct header {
	char *name, *value;
	size_t name_len, value_len;
};

struct conn {
	int fd;
	bool broken; /* nothing more can be sent */
	bool last;   /* no further request is read */

	/* The request. Its strings are in the buffer in[], up to head_end. */
	http_parser parser;
	char *url;
	size_t url_len;
	struct header headers[HEADERS_MAX];
	int header_count;
	bool head_done, done; /* the head, or all of it, has been parsed */
	bool expects;         /* it sends the body only when it is told to */
	int refused;          /* the status with which a callback of the parser refuses it */
	size_t head_end;

	/* The body. */
	char *body; /* where on_body puts it; NULL: nowhere */
	size_t body_n;
	uint64_t body_sum;
	int64_t body_by; /* deadline */

	time_t date_at;
	char date[DATE_ROOM];
	size_t out_n;
	char out[OUT_ROOM];
	size_t from, to; /* of in[]: what has come and is not parsed */
	char in[HEAD_MAX + PIECE];
};

/* ---- in and out */

static void
broke(struct conn *c)
{
	c->broken = c->last = true;
	c->out_n = 0;
}

/* Sends what waits in out[], and n bytes more. */
static void
flush_with(struct conn *c, const void *data, size_t n)
{
	struct iovec iov[2] = {{c->out, c->out_n}, {(void *)(uintptr_t)data, n}};
	ssize_t rc = 0;

	if (c->broken || c->out_n + n == 0)
		return;
	weft_timeout(options.request_ns)
		rc = weft_writev(c->fd, iov, 2);
	c->out_n = 0;
	if (rc < 0)
		broke(c);
}

static void
put(struct conn *c, const void *data, size_t n)
{
	if (c->broken || n == 0)
		return;
	if (n > sizeof(c->out) - c->out_n) {
		flush_with(c, data, n);
		return;
	}
	memcpy(c->out + c->out_n, data, n);
	c->out_n += n;
}

/* Reads what has come into in[]. Answers go out before their client is waited for: so many that
   were asked for in one go are one packet. */
static ssize_t
fill(struct conn *c)
{
	ssize_t n;

	flush_with(c, NULL, 0);
	n = weft_read(c->fd, c->in + c->to, sizeof(c->in) - c->to);
	if (n > 0)
		c->to += (size_t)n;
	return n;
}

/* ---- the parser calls these. It may have a name or a value in pieces; as in[] stays where it is,
   a piece begins where the last one has ended. */

static struct conn *
conn_of(http_parser *p)
{
	return p->data;
}

static int
refuse_in_callback(struct conn *c, int status)
{
	c->refused = status;
	return -1;
}

static int
on_url(http_parser *p, const char *at, size_t n)
{
	struct conn *c = conn_of(p);

	if (!c->url)
		c->url = c->in + (at - c->in);
	c->url_len += n;
	return c->url_len > URL_MAX ? refuse_in_callback(c, 414) : 0;
}

static int
on_header_field(http_parser *p, const char *at, size_t n)
{
	struct conn *c = conn_of(p);
	struct header *h = c->header_count > 0 ? &c->headers[c->header_count - 1] : NULL;

	if (c->head_done)
		return 0; /* a trailer, after a chunked body: nobody wants it */
	if (memchr(at, ' ', n))
		return refuse_in_callback(c, 400); /* "Name :" has fooled servers */
	if (!h || h->value) {
		if (c->header_count == HEADERS_MAX)
			return refuse_in_callback(c, 431);
		h = &c->headers[c->header_count++];
		*h = (struct header){.name = c->in + (at - c->in)};
	}
	h->name_len += n;
	return 0;
}

static int
on_header_value(http_parser *p, const char *at, size_t n)
{
	struct conn *c = conn_of(p);
	struct header *h;

	if (c->head_done)
		return 0;
	h = &c->headers[c->header_count - 1];
	if (h->value_len > 0 && h->value + h->value_len != at)
		return refuse_in_callback(c, 400); /* a value on several lines: long forbidden */
	if (h->value_len == 0)
		h->value = c->in + (at - c->in);
	h->value_len += n;
	return 0;
}

/* A parser that is paused returns, and goes on at the same place later. */
static int
on_headers_complete(http_parser *p)
{
	conn_of(p)->head_done = true;
	http_parser_pause(p, 1);
	return 0;
}

static int
on_body(http_parser *p, const char *at, size_t n)
{
	struct conn *c = conn_of(p);

	if (c->body)
		memcpy(c->body + c->body_n, at, n);
	c->body_n += n;
	return 0;
}

static int
on_message_complete(http_parser *p)
{
	conn_of(p)->done = true;
	http_parser_pause(p, 1); /* what follows is the next request */
	return 0;
}

static const http_parser_settings callbacks = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* A method that nobody knows is 501; what is no method at all is 400. */
static int
status_of_error(const struct conn *c)
{
	size_t n = 0;

	if (c->refused)
		return c->refused;
	if (HTTP_PARSER_ERRNO(&c->parser) == HPE_HEADER_OVERFLOW)
		return 431;
	if (HTTP_PARSER_ERRNO(&c->parser) != HPE_INVALID_METHOD)
		return 400;
	while (n < c->to && c->in[n] >= 'A' && c->in[n] <= 'Z')
		n++;
	return n > 0 && n < c->to && c->in[n] == ' ' ? 501 : 400;
}

/* Gives the parser at most n of the bytes that have come. 0, or the status to refuse it with. */
static int
parse(struct conn *c, size_t n)
{
	if (n > c->to - c->from)
		n = c->to - c->from;
	if (n == 0)
		return 0; /* which would tell the parser of the end */
	c->from += http_parser_execute(&c->parser, &callbacks, c->in + c->from, n);
	if (HTTP_PARSER_ERRNO(&c->parser) == HPE_PAUSED)
		http_parser_pause(&c->parser, 0);
	return HTTP_PARSER_ERRNO(&c->parser) == HPE_OK ? 0 : status_of_error(c);
}

/* ---- requests */

/* The value of the header with this name, or NULL; how many there are in *count, if it is not NULL. */
static const char *
header(const struct conn *c, const char *name, int *count)
{
	const char *found = NULL;
	int n = 0;

	for (int i = 0; i < c->header_count; i++)
		if (strcasecmp(c->headers[i].name, name) == 0) {
			found = found ? found : c->headers[i].value;
			n++;
		}
	if (count)
		*count = n;
	return found;
}

/* Makes strings of what points into the buffer. What follows each is parsed and not needed. */
static void
terminate(struct conn *c)
{
	static char empty[1];

	c->url[c->url_len] = '\0';
	for (int i = 0; i < c->header_count; i++) {
		struct header *h = &c->headers[i];

		while (h->value_len > 0 && strchr(" \t", h->value[h->value_len - 1]))
			h->value_len--;
		h->name[h->name_len] = '\0';
		if (h->value_len > 0)
			h->value[h->value_len] = '\0';
		else
			h->value = empty;
	}
}

/* 0, or the status to refuse it with. */
static int
check_head(struct conn *c)
{
	const char *coding = header(c, "Transfer-Encoding", NULL);
	const char *expect = header(c, "Expect", NULL);
	int hosts;

	if (c->parser.http_major != 1)
		return 505;
	if (memcmp(c->url + c->url_len + 1, "HTTP/", 5) != 0 || c->in[c->from] != '\n')
		return 400; /* the parser, as Debian builds it, looks at neither */
	header(c, "Host", &hosts);
	if (hosts > 1 || (hosts == 0 && c->parser.http_minor > 0))
		return 400;
	if (coding && c->parser.http_minor == 0)
		return 400;
	if (coding && strcasecmp(coding, "chunked") != 0)
		return 501;
	if (expect && strcasecmp(expect, "100-continue") != 0)
		return 417;
	c->expects = expect && c->parser.http_minor > 0;
	if (header(c, "Content-Length", NULL) && c->parser.content_length > options.body_max)
		return 413;
	return 0;
}

/* Reads a request up to its body, as a whole or more than that. 0; a status to refuse it with; or
   -errno, when there is nobody to tell. */
static int
read_head(struct conn *c)
{
	int status = 0;
	ssize_t n = 1;

	while (!c->head_done && status == 0 && c->from <= HEAD_MAX) {
		if (c->from == c->to)
			n = fill(c);
		if (n <= 0)
			return n == -ETIMEDOUT ? 408 : n < 0 ? (int)n : -ECONNRESET;
		status = parse(c, sizeof(c->in));
	}
	if (status == 0 && (!c->head_done || c->from > HEAD_MAX))
		status = 431;
	if (status)
		return status;
	c->last = !http_should_keep_alive(&c->parser);
	c->head_end = c->from + 1; /* the parser stands before the last line feed */
	terminate(c);
	status = check_head(c);
	return status ? status : parse(c, 1); /* now it knows whether there is a body */
}

static void
next_request(struct conn *c)
{
	memmove(c->in, c->in + c->from, c->to - c->from); /* mostly nothing */
	c->to -= c->from;
	c->from = c->head_end = 0;
	http_parser_init(&c->parser, HTTP_REQUEST);
	c->parser.data = c;
	c->url = NULL;
	c->url_len = 0;
	c->header_count = c->refused = 0;
	c->head_done = c->done = c->expects = false;
	c->body = NULL;
	c->body_n = c->body_sum = 0;
}

/* Reads some of the body: > 0, 0 at its end, or < 0: the negative of a status to refuse it with, or
   -1, when there is nobody to tell. */
static ssize_t
read_body(struct conn *c, char *buf, size_t n)
{
	ssize_t got = 1;
	int status = 0;

	c->body = buf;
	c->body_n = 0;
	if (c->body_sum == 0)
		c->body_by = weft_now() + BODY_SLOWER * options.request_ns;
	while (!c->done && c->body_n == 0 && status == 0) {
		if (c->from == c->to) {
			if (c->expects)
				put(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
			c->expects = false;
			c->from = c->to = c->head_end;
			weft_deadline(c->body_by)
				weft_timeout(options.request_ns)
					got = fill(c);
		}
		if (got <= 0)
			return got == -ETIMEDOUT ? -408 : -1;
		status = parse(c, n); /* a body is never longer than what it comes in */
	}
	c->body = NULL;
	c->body_sum += c->body_n;
	if (status == 0 && c->body_sum > options.body_max)
		status = 413;
	return status ? -status : (ssize_t)c->body_n;
}

/* ---- answers */

static void
date_of(char *buf, time_t t)
{
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(buf, DATE_ROOM, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

/* Who answers before the whole body was read leaves the rest of it in the way of the next request. If
   it has come already it is thrown away, otherwise the connection ends. */
static void
skip_body(struct conn *c)
{
	c->body = NULL;
	while (!c->done && c->from < c->to && parse(c, sizeof(c->in)) == 0)
		;
	if (!c->done)
		c->last = true;
}

static void
put_line(struct conn *c, const char *name, const char *value)
{
	put(c, name, strlen(name));
	put(c, ": ", 2);
	put(c, value, strlen(value));
	put(c, "\r\n", 2);
}

/* Begins an answer of so many bytes; -1: it is not known how many. put_line may follow; the head ends
   with an empty line. */
static void
begin(struct conn *c, int status, const char *type, int64_t bytes)
{
	time_t now = time(NULL);
	char text[64];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 %d %s\r\n", status,
			 http_status_str((enum http_status)status));

	if (atomic_load(&stopping))
		c->last = true;
	put(c, text, (size_t)n);
	if (now != c->date_at) {
		c->date_at = now;
		date_of(c->date, now);
	}
	put_line(c, "Date", c->date);
	if (type)
		put_line(c, "Content-Type", type);
	if (bytes >= 0) {
		snprintf(text, sizeof(text), "%lld", (long long)bytes);
		put_line(c, "Content-Length", text);
	} else if (c->parser.http_minor > 0) {
		put_line(c, "Transfer-Encoding", "chunked");
	} else {
		c->last = true; /* the end of the connection is that of the answer */
	}
	if (c->last)
		put_line(c, "Connection", "close");
	else if (c->parser.http_minor == 0)
		put_line(c, "Connection", "keep-alive");
	if (options.log)
		printf("%s %s %d\n", c->head_done ? http_method_str(c->parser.method) : "-",
		       c->head_done ? c->url : "-", status);
}

/* A whole answer of n bytes, with one more header if name is not NULL. */
static void
answer(struct conn *c, int status, const char *type, const char *body, size_t n, const char *name,
       const char *value)
{
	skip_body(c);
	begin(c, status, type, (int64_t)n);
	if (name)
		put_line(c, name, value);
	put(c, "\r\n", 2);
	if (c->parser.method != HTTP_HEAD)
		put(c, body, n);
}

/* One that says no more than its status. */
static void
answer_status(struct conn *c, int status, const char *name, const char *value)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%d %s\n", status,
			 http_status_str((enum http_status)status));

	answer(c, status, "text/plain", text, (size_t)n, name, value);
}

/* ---- handlers */

static void
hello(struct conn *c)
{
	answer(c, 200, "text/plain", "Hello, World!\n", 14, NULL, NULL);
}

static void
put_chunk(struct conn *c, const char *data, size_t n)
{
	char size[24];

	put(c, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", n));
	put(c, data, n);
	put(c, "\r\n", 2);
}

/* The body goes back while it comes, in chunks; HTTP/1.0 has none. A client that sends much and does
   not read meanwhile runs into the time-out, as it would with itself. */
static void
echo(struct conn *c)
{
	const char *type = header(c, "Content-Type", NULL);
	bool chunked = c->parser.http_minor > 0;
	char piece[PIECE];
	ssize_t n = read_body(c, piece, sizeof(piece));

	if (n < -1)
		answer_status(c, (int)-n, NULL, NULL);
	if (n < 0)
		return;
	begin(c, 200, type, -1);
	put(c, "\r\n", 2);
	for (; n > 0 && !c->broken; n = read_body(c, piece, sizeof(piece)))
		if (chunked)
			put_chunk(c, piece, (size_t)n);
		else
			put(c, piece, (size_t)n);
	if (n < 0)
		c->last = true; /* without the last chunk: the client sees that it was cut */
	else if (chunked)
		put_chunk(c, NULL, 0);
}

/* ---- files */

static const char *
type_of(const char *path)
{
	static const char *const types[][2] = {
	    {".html", "text/html; charset=utf-8"},
	    {".css", "text/css; charset=utf-8"},
	    {".js", "text/javascript; charset=utf-8"},
	    {".json", "application/json"},
	    {".txt", "text/plain; charset=utf-8"},
	    {".md", "text/markdown; charset=utf-8"},
	    {".svg", "image/svg+xml"},
	    {".png", "image/png"},
	    {".jpg", "image/jpeg"},
	    {".gif", "image/gif"},
	    {".ico", "image/x-icon"},
	    {".woff2", "font/woff2"},
	    {".wasm", "application/wasm"},
	    {".pdf", "application/pdf"},
	};
	const char *end = strrchr(path, '.');

	for (size_t i = 0; end && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcasecmp(end, types[i][0]) == 0)
			return types[i][1];
	return "application/octet-stream";
}

static int
hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Takes the path out of the URL, and the %XX out of the path. 0, or the status to refuse it with. */
static int
path_of(const struct conn *c, char path[URL_MAX + 1])
{
	struct http_parser_url u;
	const char *at = "/";
	size_t n = 1, out = 0;

	http_parser_url_init(&u);
	if (http_parser_parse_url(c->url, c->url_len, c->parser.method == HTTP_CONNECT, &u))
		return 400;
	if (u.field_set & (1 << UF_PATH)) {
		at = c->url + u.field_data[UF_PATH].off;
		n = u.field_data[UF_PATH].len;
	}
	for (size_t i = 0; i < n; i++) {
		path[out] = at[i];
		if (at[i] == '%') {
			if (n - i < 3 || hex(at[i + 1]) < 0 || hex(at[i + 2]) < 0)
				return 400;
			path[out] = (char)(hex(at[i + 1]) * 16 + hex(at[i + 2]));
			i += 2;
		}
		if (path[out++] == '\0')
			return 400;
	}
	path[out] = '\0';
	return 0;
}

/*
 * Opens a file under the folder, a step at a time: no link is followed, and no name that begins with
 * a dot is taken, so that neither "..", nor a link, nor .git leads to what nobody should see. The
 * file, or -errno. It calls nothing of weft, and is not inlined where others do: errno belongs to
 * the thread, and its address must not be kept while a goroutine changes threads.
 */
__attribute__((noinline)) static int
open_under(int dir, const char *path)
{
	int at = dir, next;

	for (;;) {
		char name[256];
		size_t n;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		next = -ENOENT;
		if (*path != '.' && n < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)n, path);
			next = openat(at, n ? name : "index.html",
				      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
			next = next < 0 ? -errno : next;
		}
		if (at != dir)
			close(at);
		if (next < 0 || path[n] == '\0')
			return next;
		path += n;
		at = next;
	}
}

/* Which part of the file is wanted, up to before *to: 206, 416 if there is no such part, or 200: all
   of it, also when what is asked for makes no sense, or is several parts. */
static int
range_of(const struct conn *c, off_t size, off_t *from, off_t *to)
{
	const char *s = header(c, "Range", NULL);
	long long a = 0, b = size - 1;
	int used = 0, more = 0;

	*from = 0;
	*to = size;
	if (!s)
		return 200;
	if (sscanf(s, "bytes=-%lld%n", &b, &used) == 1 && !s[used]) { /* the last b */
		if (b <= 0 || size == 0)
			return 416;
		*from = b < size ? size - b : 0;
		return 206;
	}
	if (sscanf(s, "bytes=%lld-%n", &a, &used) != 1 || used == 0 || a < 0)
		return 200;
	if (s[used] && (sscanf(s + used, "%lld%n", &b, &more) != 1 || s[used + more] || b < a))
		return 200;
	if (a >= size)
		return 416;
	*from = a;
	*to = b < size ? b + 1 : size;
	return 206;
}

static void
send_part(struct conn *c, int file, off_t from, off_t to)
{
	while (from < to && !c->broken) {
		size_t n = to - from < FILE_PIECE ? (size_t)(to - from) : FILE_PIECE;
		ssize_t rc = 0;

		weft_timeout(options.request_ns)
			rc = weft_sendfile(c->fd, file, &from, n);
		if (rc <= 0)
			broke(c); /* 0: the file is shorter than it was, and the length is said */
	}
}

static void
send_file(struct conn *c, int file, const struct stat *st, const char *type)
{
	const char *since = header(c, "If-Modified-Since", NULL);
	char modified[DATE_ROOM], part[80];
	off_t from, to;
	int status = range_of(c, st->st_size, &from, &to);

	date_of(modified, st->st_mtime);
	if (since && strcmp(since, modified) == 0) {
		status = 304; /* the client has it */
	} else if (status == 416) {
		snprintf(part, sizeof(part), "bytes */%lld", (long long)st->st_size);
		answer_status(c, 416, "Content-Range", part);
		return;
	}
	skip_body(c);
	begin(c, status, type, status == 304 ? st->st_size : to - from);
	put_line(c, "Last-Modified", modified);
	put_line(c, "Accept-Ranges", "bytes");
	if (status == 206) {
		snprintf(part, sizeof(part), "bytes %lld-%lld/%lld", (long long)from,
			 (long long)to - 1, (long long)st->st_size);
		put_line(c, "Content-Range", part);
	}
	put(c, "\r\n", 2);
	if (c->parser.method == HTTP_HEAD || status == 304)
		return;
	flush_with(c, NULL, 0);
	send_part(c, file, from, to);
}

/* Another server might take "//host" for a host: one slash, then. */
static void
send_there(struct conn *c, const char *path)
{
	char to[URL_MAX + 3];

	path += strspn(path, "/");
	snprintf(to, sizeof(to), "/%.*s/", (int)strcspn(path, "?#"), path);
	answer_status(c, 301, "Location", to);
}

static void
files(struct conn *c, const char *path)
{
	weft_autofd int file = -1;
	struct stat st;

	weft_blocking file = open_under(options.dir, path); /* the disk may be slow */
	if (file == -EMFILE || file == -ENFILE)
		answer_status(c, 503, NULL, NULL);
	else if (file == -EACCES)
		answer_status(c, 403, NULL, NULL);
	else if (file < 0 || fstat(file, &st) < 0)
		answer_status(c, 404, NULL, NULL);
	else if (S_ISDIR(st.st_mode) && c->url[0] == '/')
		send_there(c, c->url);
	else if (!S_ISREG(st.st_mode))
		answer_status(c, 404, NULL, NULL);
	else
		send_file(c, file, &st,
			  type_of(path[strlen(path) - 1] == '/' ? "index.html" : path));
}

/* ---- which handler it is */

#define METHOD(m) (1ull << HTTP_##m)

static const struct route {
	const char *path;
	uint64_t methods;
	const char *allow; /* the same, in words */
	void (*handler)(struct conn *);
} routes[] = {
    {"/hello", METHOD(GET) | METHOD(HEAD), "GET, HEAD", hello},
    {"/echo", METHOD(POST) | METHOD(PUT), "POST, PUT", echo},
};

static void
handle(struct conn *c)
{
	static const struct route other = {NULL, METHOD(GET) | METHOD(HEAD), "GET, HEAD", NULL};
	const struct route *r = &other;
	char path[URL_MAX + 1];
	int status = path_of(c, path);

	for (size_t i = 0; status == 0 && i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(path, routes[i].path) == 0)
			r = &routes[i];
	if (status)
		answer_status(c, status, NULL, NULL);
	else if (!(r->methods & 1ull << c->parser.method))
		answer_status(c, 405, "Allow", r->allow);
	else if (r->handler)
		r->handler(c);
	else
		files(c, path);
}

/* ---- connections */

/* One request and its answer. */
static void
serve_request(struct conn *c)
{
	int status = 0;

	next_request(c);
	weft_timeout(options.request_ns)
		status = read_head(c);
	if (status < 0) {
		broke(c);
	} else if (status > 0) {
		c->last = true; /* nobody knows where the next request would begin */
		answer_status(c, status, NULL, NULL);
	} else {
		handle(c);
	}
	if (c->from == c->to || c->last)
		flush_with(c, NULL, 0); /* else the next one has begun, and is answered along */
}

/* To close while something is unread would be a reset, by which the client could lose the answer: wait
   until it has seen that this was all. */
static void
linger(struct conn *c)
{
	shutdown(c->fd, SHUT_WR);
	weft_timeout(WEFT_SEC)
		while (weft_read(c->fd, c->in, sizeof(c->in)) > 0)
			;
}

struct connection {
	int fd;
};

static int
connection(struct connection *a)
{
	weft_autofd int fd = a->fd;
	struct conn c; /* large: only what is used of it takes memory, so it is not cleared */

	c.fd = fd;
	c.broken = c.last = false;
	c.from = c.to = c.out_n = 0;
	c.date_at = 0;
	while (!c.last) {
		ssize_t n = 1;

		if (c.from == c.to) {
			c.from = c.to = 0;
			weft_timeout(options.idle_ns)
				n = fill(&c);
		}
		if (n <= 0)
			break; /* it has gone, was idle for too long, or the server ends */
		weft_shield serve_request(&c);
	}
	if (!c.broken && c.last && (!c.done || c.from < c.to))
		weft_shield linger(&c);
	return 0; /* < 0 would end all others */
}

static void
accept_all(struct weft_group *g, int listener)
{
	while (!weft_cancelled()) {
		int fd = weft_accept(listener);

		if (fd < 0 && fd != -ECANCELED)
			fprintf(stderr, "accept: %s\n", strerror(-fd));
		else if (fd >= 0 && weft_go_in(g, connection, fd) < 0)
			weft_close_fd(fd);
	}
	weft_close_fd(listener);
}

/* ---- the end */

static void
stop(struct weft_group *g)
{
	atomic_store(&stopping, true);
	weft_cancel(g);
}

struct watch {
	struct weft_group *g;
	weft_chan(int) term, intr;
};

static int
watch(struct watch *a)
{
	int signo;

	weft_select(WEFT_RECV(a->term, &signo), WEFT_RECV(a->intr, &signo));
	stop(a->g);
	weft_select(WEFT_RECV(a->term, &signo), WEFT_RECV(a->intr, &signo),
		    WEFT_AFTER(options.grace_ns));
	fprintf(stderr, "http_server: some requests took too long, and are cut off\n");
	_exit(1);
}

/* ---- the show */

struct show {
	const char *addr;
	struct weft_group *g;
};

/* Five requests at once; their answers come in the same order. */
static int
show(struct show *a)
{
	static const char ask[] =
	    "GET /hello HTTP/1.1\r\nHost: me\r\n\r\n"
	    "POST /echo HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "5\r\nround\r\n4\r\nabou\r\n1\r\nt\r\n0\r\n\r\n"
	    "HEAD /hello HTTP/1.1\r\nHost: me\r\n\r\n"
	    "GET /../etc/passwd HTTP/1.1\r\nHost: me\r\n\r\n"
	    "BREW /tea HTTP/1.1\r\nHost: me\r\n\r\n";
	static const char *const want[] = {" 200 OK", "Hello, World!", " 200 OK", "abou",
					   " 200 OK", " 404 Not",      " 501 Not"};
	weft_autofd int fd = weft_dial("tcp", a->addr);
	static char text[65536];
	char *at = text;

	if (fd < 0 || weft_write(fd, ask, sizeof(ask) - 1) < 0 ||
	    weft_read_full(fd, text, sizeof(text) - 1) < 0)
		_exit(1);
	fputs(text, stdout);
	fflush(stdout);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (!(at = strstr(at, want[i])))
			_exit(1);
		else
			at += strlen(want[i]);
	stop(a->g);
	return 0;
}

struct app {
	const char *addr;
};

static int
app(struct app *a)
{
	int listener = weft_listen("tcp", a->addr ? a->addr : "127.0.0.1:0");
	weft_chan(int) term = weft_signal_chan(SIGTERM);
	weft_chan(int) intr = weft_signal_chan(SIGINT);
	char addr[64];

	if (listener < 0) {
		const char *why = a->addr ? weft_addr_error("tcp", a->addr) : NULL;

		fprintf(stderr, "%s: %s\n", a->addr, why ? why : strerror(-listener));
		return 1;
	}
	weft_local_addr(listener, addr, sizeof(addr));
	printf("http on %s\n", addr);
	fflush(stdout);
	weft_group(g, NULL) {
		weft_group_limit(g, CONNECTIONS);
		weft_go(watch, g, term, intr);
		if (!a->addr)
			weft_go(show, addr, g);
		accept_all(g, listener);
	}
	return 0;
}

static int64_t
seconds(const char *text)
{
	double s = atof(text);

	return s > 0 ? (int64_t)(s * WEFT_SEC) : 1;
}

int
main(int argc, char **argv)
{
	const char *dir = ".";
	int o;

	while ((o = getopt(argc, argv, "d:t:k:g:m:v")) != -1)
		switch (o) {
		case 'd':
			dir = optarg;
			break;
		case 't':
			options.request_ns = seconds(optarg);
			break;
		case 'k':
			options.idle_ns = seconds(optarg);
			break;
		case 'g':
			options.grace_ns = seconds(optarg);
			break;
		case 'm':
			options.body_max = strtoull(optarg, NULL, 10);
			break;
		case 'v':
			options.log = true;
			break;
		default:
			return 2;
		}
	options.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (options.dir < 0) {
		perror(dir);
		return 1;
	}
	return weft_run(app, argv[optind]);
}
