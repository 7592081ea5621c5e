/* The lists of hutch.conf(5), out of the table that reads the file. */
#include <stdio.h>
#include "conf/conf.h"

int
main(void)
{
	conf_help_mdoc(stdout);
	return fflush(stdout) != 0;
}
