#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include "config.h"
#include "base/err.h"
#include "cli/api.h"
#include "cli/cli.h"
#include "cli/options.h"

const char *argp_program_version = PACKAGE_NAME " " PACKAGE_VERSION;

int
main(int argc, char **argv)
{
	struct cli cli = { 0 };
	struct err err;
	bool inside;
	int status;

	signal(SIGPIPE, SIG_IGN); /* a write that fails says so */
	options_read(&cli, argc, argv);
	inside = cli.command->takes & TAKES_EXEC;
	if (cli.command->run(&cli, &err) == 0)
		status = cli.status;
	else {
		cli_complain(&cli, &err);
		status = cli.status != 0 ? cli.status
		    : inside             ? CLI_RUN_FAILED
					 : CLI_FAILED;
	}
	if (fflush(stdout) != 0 && !inside && status == 0)
		status = CLI_FAILED;
	api_close(cli.api);
	options_free(&cli);
	return status;
}
