/*
 * term: our own terminal: raw while a command has it, and what is safe to show.
 *
 * Names, errors and progress come from images and sandboxes; shown as they are
 * they could drive the terminal of whoever looks.
 */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>

struct str;

/* Raw mode on fd until term_restore(), which also runs at exit. */
void term_raw(int fd);
void term_restore(void);
/* false: fd is no terminal. */
bool term_size(int fd, unsigned *rows, unsigned *cols);
/* Adds text with control characters made visible; keep: '\n' and '\t' pass. */
void term_clean(struct str *out, const char *text, size_t n, bool keep);

#endif
