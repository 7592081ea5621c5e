#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/tar.h"
#include "base/err.h"

struct ustar {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12],
	    checksum[8], type, link[100], magic[6], version[2], user[32],
	    group[32], major[8], minor[8], prefix[155], unused[12];
};
_Static_assert(sizeof(struct ustar) == TAR_BLOCK, "a block");

#define OCTAL_SIZE_MAX 077777777777

void
tar_entry_free(struct tar_entry *e)
{
	str_free(&e->path);
	str_free(&e->link);
}

/* ---- writing ---- */

/* "LENGTH key=value\n", where LENGTH counts itself. */
static void
record(struct str *pax, const char *key, const char *value, size_t n)
{
	size_t rest = strlen(key) + n + 3, len = rest + 1;
	char digits[24];

	while ((size_t)snprintf(digits, sizeof digits, "%zu", len) + rest > len)
		len++;
	str_printf(pax, "%zu %s=", len, key);
	str_add(pax, value, n);
	str_putc(pax, '\n');
}

static void
record_num(struct str *pax, const char *key, int64_t n)
{
	char text[24];

	record(pax, key, text,
	    (size_t)snprintf(text, sizeof text, "%lld", (long long)n));
}

static void
octal(char *field, size_t room, uint64_t value)
{
	field[--room] = '\0';
	while (room-- > 0) {
		field[room] = (char)('0' + (value & 7));
		value >>= 3;
	}
}

static void
fit(char *field, size_t room, const char *text)
{
	size_t n = strlen(text);

	memcpy(field, text, n < room ? n : room);
}

static void
header(struct str *out, const struct tar_entry *e, char type, const char *name,
    int64_t size)
{
	struct ustar h = { .type = type,
		.magic = "ustar",
		.version = { '0', '0' } };
	unsigned sum = 0;

	fit(h.name, sizeof h.name, name);
	if (e->link.len > 0)
		fit(h.link, sizeof h.link, e->link.at);
	octal(h.mode, sizeof h.mode, e->mode & 07777);
	octal(h.uid, sizeof h.uid, e->uid & 07777777);
	octal(h.gid, sizeof h.gid, e->gid & 07777777);
	octal(h.size, sizeof h.size,
	    size <= OCTAL_SIZE_MAX ? (uint64_t)size : 0);
	octal(h.mtime, sizeof h.mtime,
	    e->seconds < 0 || e->seconds > OCTAL_SIZE_MAX
		? 0
		: (uint64_t)e->seconds);
	memset(h.checksum, ' ', sizeof h.checksum);
	for (size_t i = 0; i < sizeof h; i++)
		sum += ((const uint8_t *)&h)[i];
	octal(h.checksum, 7, sum);
	str_add(out, &h, sizeof h);
}

static void
put_map(struct str *map, const struct tar_piece *piece, size_t n)
{
	str_printf(map, "%zu\n", n);
	for (size_t i = 0; i < n; i++)
		str_printf(map, "%lld\n%lld\n", (long long)piece[i].at,
		    (long long)piece[i].size);
	tar_pad(map, (int64_t)map->len);
}

static void
put_records(struct str *pax, const struct tar_entry *e, int64_t stored)
{
	char time[48];

	if (e->sparse) {
		record(pax, "GNU.sparse.major", "1", 1);
		record(pax, "GNU.sparse.minor", "0", 1);
		record(pax, "GNU.sparse.name", e->path.at, e->path.len);
		record_num(pax, "GNU.sparse.realsize", e->size);
	} else if (e->path.len > 100) {
		record(pax, "path", e->path.at, e->path.len);
	}
	if (e->link.len > 100)
		record(pax, "linkpath", e->link.at, e->link.len);
	if (stored > OCTAL_SIZE_MAX)
		record_num(pax, "size", stored);
	if (e->nano > 0 && e->seconds >= 0)
		record(pax, "mtime", time,
		    (size_t)snprintf(time, sizeof time, "%lld.%09u",
			(long long)e->seconds, e->nano));
	else if (e->seconds < 0)
		record_num(pax, "mtime", e->seconds);
}

void
tar_put(struct str *out, const struct tar_entry *e, const struct tar_piece *map,
    size_t n)
{
	auto_str struct str pax = { 0 }, text = { 0 }, name = { 0 };
	struct tar_entry plain = { .mode = 0644 };
	int64_t stored = e->type == TAR_FILE ? e->size : 0;

	if (e->sparse) {
		put_map(&text, map, n);
		stored = (int64_t)text.len;
		for (size_t i = 0; i < n; i++)
			stored += map[i].size;
		str_puts(&name, "GNUSparseFile.0/");
	}
	str_add(&name, e->path.at, e->path.len);
	put_records(&pax, e, stored);
	if (pax.len > 0) {
		header(out, &plain, TAR_PAX, "PaxHeaders/0", (int64_t)pax.len);
		str_add(out, pax.at, pax.len);
		tar_pad(out, (int64_t)pax.len);
	}
	header(out, e, (char)e->type, name.at, stored);
	str_add(out, text.at, text.len);
}

void
tar_pad(struct str *out, int64_t size)
{
	static const char zeros[TAR_BLOCK];

	str_add(out, zeros,
	    (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK));
}

void
tar_put_end(struct str *out)
{
	static const char zeros[2 * TAR_BLOCK];

	str_add(out, zeros, sizeof zeros);
}

/* ---- reading ---- */

/* -1: not a number that we would have written, or another tar. */
static int64_t
number(const char *field, size_t room)
{
	uint64_t n = 0;
	size_t i = 0;

	if ((uint8_t)field[0] == 0x80) { /* binary, of GNU */
		for (i = room - 8; i < room; i++)
			n = n << 8 | (uint8_t)field[i];
		return n > INT64_MAX ? -1 : (int64_t)n;
	}
	while (i < room && field[i] == ' ')
		i++;
	for (; i < room && field[i] >= '0' && field[i] <= '7'; i++)
		n = n << 3 | (uint64_t)(field[i] - '0');
	if (i < room && field[i] != '\0' && field[i] != ' ')
		return -1;
	return (int64_t)n;
}

static int
check(const uint8_t block[TAR_BLOCK], const struct ustar *h, struct err *err)
{
	unsigned sum = 0;

	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : block[i];
	if (number(h->checksum, sizeof h->checksum) != sum)
		return err_set(err, ERR_PROTO, "not a tar archive");
	return 0;
}

static void
put_name(struct str *out, const struct ustar *h)
{
	size_t prefix = strnlen(h->prefix, sizeof h->prefix);

	if (memcmp(h->magic, "ustar", 6) == 0 && prefix > 0) {
		str_add(out, h->prefix, prefix);
		str_putc(out, '/');
	}
	str_add(out, h->name, strnlen(h->name, sizeof h->name));
}

static enum tar_type
type_of(char c)
{
	if (c == '\0' || c == '7')
		return TAR_FILE;
	return strchr("01256x", c) != NULL ? (enum tar_type)c : TAR_OTHER;
}

static bool
empty(const uint8_t block[TAR_BLOCK])
{
	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (block[i] != 0)
			return false;
	return true;
}

/* A field that no record has set before: -1 is not set. */
static void
unless_set(int64_t *field, int64_t value)
{
	if (*field < 0)
		*field = value;
}

int
tar_get(const uint8_t block[TAR_BLOCK], struct tar_entry *e, struct err *err)
{
	const struct ustar *h = (const struct ustar *)block;
	int64_t size = number(h->size, sizeof h->size), seconds;
	int64_t mode = number(h->mode, sizeof h->mode);
	int64_t uid = number(h->uid, sizeof h->uid);
	int64_t gid = number(h->gid, sizeof h->gid);

	if (empty(block))
		return 0;
	if (check(block, h, err) < 0)
		return -1;
	seconds = number(h->mtime, sizeof h->mtime);
	if (size < 0 || mode < 0 || uid < 0 || gid < 0)
		return err_set(err, ERR_PROTO, "tar: a number in a header");
	e->type = type_of(h->type);
	if (e->type == TAR_PAX) {
		e->stored = size;
		return 1;
	}
	if (e->path.len == 0)
		put_name(&e->path, h);
	if (e->link.len == 0)
		str_add(&e->link, h->link, strnlen(h->link, sizeof h->link));
	unless_set(&e->stored, size);
	unless_set(&e->size, e->stored);
	if (e->type != TAR_FILE && e->type != TAR_OTHER)
		e->stored = 0;
	if (e->seconds == INT64_MIN)
		e->seconds = seconds > 0 ? seconds : 0;
	e->mode = (uint32_t)mode & 07777;
	e->uid = (uint32_t)uid;
	e->gid = (uint32_t)gid;
	return 1;
}

static void
set_time(struct tar_entry *e, const char *text)
{
	const char *dot = strchr(text, '.');
	unsigned scale = 100000000;

	e->seconds = strtoll(text, NULL, 10);
	e->nano = 0;
	for (dot = dot != NULL ? dot + 1 : ""; *dot >= '0' && *dot <= '9';
	     dot++, scale /= 10)
		e->nano += scale * (unsigned)(*dot - '0');
}

static void
set(struct tar_entry *e, const char *key, const char *value, size_t n)
{
	bool name = strcmp(key, "path") == 0;

	if (strcmp(key, "GNU.sparse.name") == 0)
		name = e->sparse = true;
	if (name) {
		str_cut(&e->path, 0);
		str_add(&e->path, value, n);
	} else if (strcmp(key, "linkpath") == 0) {
		str_cut(&e->link, 0);
		str_add(&e->link, value, n);
	} else if (strcmp(key, "size") == 0)
		e->stored = strtoll(value, NULL, 10);
	else if (strcmp(key, "GNU.sparse.realsize") == 0)
		e->size = strtoll(value, NULL, 10);
	else if (strcmp(key, "mtime") == 0)
		set_time(e, value);
}

int
tar_records(const char *bytes, size_t n, struct tar_entry *e, struct err *err)
{
	while (n > 0) {
		char *after;
		size_t len = strtoul(bytes, &after, 10);
		size_t head = (size_t)(after - bytes) + 1;
		const char *equal;
		auto_str struct str record = { 0 };

		if (*after != ' ' || len <= head || len > n ||
		    bytes[len - 1] != '\n')
			return err_set(err, ERR_PROTO, "tar: a pax record");
		str_add(&record, bytes + head, len - head - 1);
		equal = memchr(record.at, '=', record.len);
		if (equal == NULL)
			return err_set(err, ERR_PROTO, "tar: a pax record");
		record.at[equal - record.at] = '\0';
		set(e, record.at, equal + 1,
		    record.len - (size_t)(equal + 1 - record.at));
		bytes += len;
		n -= len;
	}
	return 0;
}

/* 1: *at is behind the line and its number; 0: the line is not all there. */
static int
line(const char **at, const char *end, int64_t *value)
{
	const char *p = *at;

	for (*value = 0; p < end && *p >= '0' && *p <= '9'; p++)
		*value =
		    *value > INT64_MAX / 16 ? -1 : *value * 10 + (*p - '0');
	if (p == end)
		return 0;
	if (*p != '\n' || p == *at || *value < 0)
		return -1;
	*at = p + 1;
	return 1;
}

int
tar_map(const char *bytes, size_t n, struct tar_piece *map, size_t *pieces,
    size_t *used, struct err *err)
{
	const char *at = bytes, *end = bytes + n;
	int64_t count;
	int r = line(&at, end, &count);

	if (r > 0 && count > TAR_MAP_MAX)
		return err_set(err, ERR_LIMIT,
		    "tar: a sparse file of %lld "
		    "pieces",
		    (long long)count);
	for (int64_t i = 0; r > 0 && i < count; i++) {
		r = line(&at, end, &map[i].at);
		if (r > 0)
			r = line(&at, end, &map[i].size);
	}
	if (r < 0)
		return err_set(err, ERR_PROTO, "tar: the map of a sparse file");
	*used = (size_t)(at - bytes);
	*used += (TAR_BLOCK - *used % TAR_BLOCK) % TAR_BLOCK;
	if (r == 0 || *used > n)
		return 0;
	*pieces = (size_t)count;
	return 1;
}
