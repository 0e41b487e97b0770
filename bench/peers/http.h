/* SPDX-License-Identifier: MIT */
/*
 * http.h: the parser of row http for servers in C, weft's among them; those in other languages do the
 * same by hand. It knows what the row needs: GET, lines that end in CR LF, and "Connection: close".
 * A server to start from, with a real parser, is examples/http_server.c.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#define HTTP_ANSWER                                                                                \
	"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"

enum {
	HTTP_IN = 4096, /* the longest request */
	HTTP_SHORTEST =
	    sizeof("GET / HTTP/1.0\r\n\r\n") - 1, /* so many answers may be due at once */
	HTTP_LENGTH = sizeof(HTTP_ANSWER) - 1,
	HTTP_OUT = HTTP_IN / HTTP_SHORTEST * HTTP_LENGTH,
};

struct http {
	size_t have; /* bytes of in[] */
	bool last;   /* the client wants no more */
	char in[HTTP_IN];
	char out[HTTP_OUT];
};

/* "Name: value": the one that matters. */
static inline bool
http_closes(const char *line, size_t n)
{
	static const char close[] = "Connection: close";

	return n == sizeof(close) - 1 && strncasecmp(line, close, n) == 0;
}

/* The length of the request at the beginning of text; 0: it is not complete; -1: it is none. */
static inline ssize_t
http_request(struct http *h, const char *text, size_t n)
{
	const char *line = text, *end;
	bool last = false;

	for (; (end = memchr(line, '\n', n - (size_t)(line - text))); line = end + 1) {
		size_t length = (size_t)(end - line);

		if (length == 0 || line[--length] != '\r')
			return -1;
		if (line == text) {
			if (length < HTTP_SHORTEST - 4 || memcmp(line, "GET /", 5) != 0 ||
			    memcmp(line + length - 9, " HTTP/1.", 8) != 0)
				return -1;
		} else if (length == 0) {
			h->last = last;
			return end + 1 - text;
		} else if (http_closes(line, length)) {
			last = true;
		}
	}
	return n == HTTP_IN ? -1 : 0;
}

/* So many bytes have been read into in + have: how many of out are to be sent; -1: no HTTP. */
static inline ssize_t
http_serve(struct http *h, size_t read)
{
	size_t from = 0, out = 0;
	ssize_t n = 0;

	h->have += read;
	while (from < h->have && !h->last &&
	       (n = http_request(h, h->in + from, h->have - from)) > 0) {
		memcpy(h->out + out, HTTP_ANSWER, HTTP_LENGTH);
		out += HTTP_LENGTH;
		from += (size_t)n;
	}
	h->have -= from;
	if (h->have > 0)
		memmove(h->in, h->in + from, h->have);
	return n < 0 ? -1 : (ssize_t)out;
}

#endif
