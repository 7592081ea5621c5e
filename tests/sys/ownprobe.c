/*
 * ownprobe: what one of our own confined processes can do, and can't.
 *
 * Executed by the isolator in place of the front or the fetcher; writes
 * "name=value" lines to descriptor 3, values being 0 or an errno's name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void
say(const char *name, long got)
{
	dprintf(3, "%s=%s\n", name, got < 0 ? strerrorname_np(errno) : "0");
}

static void
text(const char *name, const char *value)
{
	dprintf(3, "%s=%s\n", name, value);
}

static void
list(const char *name, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	dprintf(3, "%s=", name);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			dprintf(3, "%s,", e->d_name);
	dprintf(3, "\n");
	if (d != NULL)
		closedir(d);
}

static void
status(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];

	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		char *colon = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (colon == NULL ||
		    (strncmp(line, "Cap", 3) != 0 &&
			strncmp(line, "NoNew", 5) != 0 &&
			strncmp(line, "Groups", 6) != 0 &&
			strncmp(line, "Seccomp:", 8) != 0))
			continue;
		*colon = '\0';
		text(line, colon + 1 + strspn(colon + 1, " \t"));
	}
	if (f != NULL)
		fclose(f);
}

static void
programs(void)
{
	static const char *const argv[] = { "true", NULL };
	char *const *av = (char *const *)(uintptr_t)argv;
	int fd = open("/usr/bin/true", O_PATH);
	struct rlimit r;

	say("execve", execve("/usr/bin/true", av, NULL));
	say("execveat", syscall(SYS_execveat, fd, "", av, NULL, AT_EMPTY_PATH));
	getrlimit(RLIMIT_NOFILE, &r);
	/* The number that is permitted can't be had any more. */
	say("dup_high", dup2(fd, (int)r.rlim_max));
	say("execveat_high",
	    syscall(SYS_execveat, (int)r.rlim_max, "", av, NULL,
		AT_EMPTY_PATH));
	r.rlim_max++;
	say("raise", setrlimit(RLIMIT_NOFILE, &r));
	say("fork", syscall(SYS_fork));
	say("clone", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	close(fd);
}

int
main(int argc, char **argv)
{
	text("argv", argc > 1 ? argv[1] : "");
	text("home", getenv("HOME") ? getenv("HOME") : "");
	dprintf(3, "pid=%d\nuid=%d\n", getpid(), getuid());
	status();
	programs();
	say("socket", socket(AF_INET, SOCK_STREAM, 0));
	say("socket_unix", socket(AF_UNIX, SOCK_STREAM, 0));
	say("unshare", unshare(CLONE_NEWUSER));
	say("ptrace", syscall(SYS_ptrace, 0, 0, 0, 0));
	say("mount", syscall(SYS_mount, "a", "/tmp", "tmpfs", 0, NULL));
	say("state", open("/state/made", O_CREAT | O_RDWR, 0600));
	say("tmp", open("/tmp/made", O_CREAT | O_RDWR, 0600));
	say("root", open("/made", O_CREAT | O_RDWR, 0600));
	say("usr", open("/usr/made", O_CREAT | O_RDWR, 0600));
	say("shadow", open("/etc/shadow", O_RDONLY));
	say("passwd", open("/etc/passwd", O_RDONLY));
	say("certs", open("/etc/ssl/certs/ca-certificates.crt", O_RDONLY));
	say("whiteout", mknodat(AT_FDCWD, "/state/white", S_IFCHR, 0));
	say("device", mknodat(AT_FDCWD, "/state/dev", S_IFCHR, makedev(1, 3)));
	say("chown", chown("/state/made", 5, 6));
	list("root_has", "/");
	list("etc_has", "/etc");
	list("fds", "/proc/self/fd");
	list("proc_has", "/proc");
	return 0;
}
