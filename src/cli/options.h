/*
 * options: the command line, read into a struct cli.
 *
 * One table says what each option is called, which commands take it and where
 * its value goes; argp makes help and errors of it.  Ends the process itself
 * after --help, --version or a usage error (CLI_USAGE).
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

struct cli;
struct command;

void options_read(struct cli *, int argc, char **argv);
void options_free(struct cli *);
/* Index until NULL: long names with their dashes, of those it takes. */
const char *options_word(const struct command *, int index);

#endif
