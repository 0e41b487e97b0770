/* SPDX-License-Identifier: MIT */
/* debug.c: reads WEFT_DEBUG=word=number,... and explains it; see debug.h. */
#include "obs/debug.h"
#include "base/check.h"
#include "base/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_debug wf_debug;

static const struct word {
	const char *name;
	int64_t least, most, otherwise;
	size_t offset; /* of its value in struct wf_debug */
	const char *help;
} words[] = {
#define X(word, least, most, otherwise, help)                                                      \
	{#word, least, most, otherwise, offsetof(struct wf_debug, word), help},
    WF_DEBUG_WORDS(X)
#undef X
};

static int64_t *
value_of(const struct word *w)
{
	return (int64_t *)((char *)&wf_debug + w->offset);
}

static WF_NORETURN void
refuse(const char *text, size_t len, const struct word *w)
{
	if (w)
		wf_say_to(2, "weft: WEFT_DEBUG: '%.*s': %s is a number from %lld to %lld", (int)len,
			  text, w->name, (long long)w->least, (long long)w->most);
	else
		wf_say_to(2, "weft: WEFT_DEBUG: '%.*s' is not known", (int)len, text);
	wf_say_to(2, "The known words, several with commas, as in WEFT_DEBUG=lint=1,say=1:");
	for (w = words; w < words + countof(words); w++) {
		char range[48];

		snprintf(range, sizeof(range), "%s=%lld..%lld", w->name, (long long)w->least,
			 (long long)w->most);
		wf_say_to(2, "  %-23s%s", range, w->help);
	}
	wf_say_to(2, "More in weft-debug(7).");
	os_exit(WF_FATAL_STATUS);
}

static void
read_word(const char *text, size_t len)
{
	for (const struct word *w = words; w < words + countof(words); w++) {
		size_t n = strlen(w->name);
		const char *digits = text + n + 1;
		char *end;
		long long v;

		if (len < n || strncmp(text, w->name, n) != 0 || (len > n && text[n] != '='))
			continue;
		if (len == n)
			refuse(text, len, w);
		if (*digits < '0' || *digits > '9')
			refuse(text, len, w);
		v = strtoll(digits, &end, 10); /* too many digits: the most there is, refused */
		if (end != text + len || v < w->least || v > w->most)
			refuse(text, len, w);
		*value_of(w) = v;
		return;
	}
	refuse(text, len, NULL);
}

void
wf_debug_read(void)
{
	const char *s = os_getenv("WEFT_DEBUG");

	for (const struct word *w = words; w < words + countof(words); w++)
		*value_of(w) = w->otherwise;
	while (s && *s) {
		size_t len = strcspn(s, ",");

		read_word(s, len);
		s += len + (s[len] == ',');
	}
}
