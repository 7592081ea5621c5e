#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/sys/probe.h"

long
status_caps(const char *key)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long got = -1;

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			got = strtol(line + strlen(key) + 1, NULL, 16);
	if (f != NULL)
		fclose(f);
	return got;
}

/* ---- 27, 61: other ABIs ---- */

#if defined(__x86_64__)

/* int 0x80 from 64-bit code: the i386 table, getpid there */
static long
by_interrupt(void)
{
	long got;

	__asm__ volatile("int $0x80" : "=a"(got) : "0"(20L) : "memory");
	return got;
}

/* A far return into a 32-bit code segment, int 0x80 there, and back. */
static long
by_far_jump(void)
{
	static const unsigned char code[] = {
		0xb8, 20, 0, 0, 0, /* mov $20, %eax */
		0xcd, 0x80,        /* int $0x80 */
		0xcb,              /* lret */
	};
	unsigned char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct {
		uint32_t offset;
		uint16_t selector;
	} __attribute__((packed)) to = { (uint32_t)(uintptr_t)at, 0x23 };
	long got;

	if (at == MAP_FAILED)
		return -1;
	memcpy(at, code, sizeof code);
	/* The stack must be reachable with 32 bits, too. */
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
			 "mov %[stack], %%rsp\n\t"
			 "lcall *%[to]\n\t"
			 "mov %%rbx, %%rsp\n\t"
			 : "=&a"(got)
			 : [to] "m"(to), [stack] "r"((uintptr_t)at + 8000)
			 : "rbx", "rcx", "rdx", "r11", "memory");
	return got;
}

static long
by_x32(void)
{
	return syscall(0x40000000 + SYS_getpid);
}

/* A 32-bit program that exits with 42. */
static long
by_elf32(void)
{
	static const unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0,
		0, 0xcd, 0x80 };
	struct {
		Elf32_Ehdr e;
		Elf32_Phdr p;
		unsigned char code[sizeof code];
	} file = { .e = { .e_type = ET_EXEC,
		       .e_machine = EM_386,
		       .e_version = 1,
		       .e_entry =
			   0x8048000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
		       .e_phoff = sizeof(Elf32_Ehdr),
		       .e_ehsize = sizeof(Elf32_Ehdr),
		       .e_phentsize = sizeof(Elf32_Phdr),
		       .e_phnum = 1 },
		.p = { PT_LOAD, 0, 0x8048000, 0x8048000, sizeof file,
		    sizeof file, PF_R | PF_X, 0x1000 } };
	int fd = open("/tmp/elf32", O_CREAT | O_TRUNC | O_WRONLY, 0755);

	memcpy(file.e.e_ident, "\177ELF\1\1\1", 7);
	memcpy(file.code, code, sizeof code);
	if (write(fd, &file, sizeof file) != (ssize_t)sizeof file)
		return -1;
	close(fd);
	execl("/tmp/elf32", "elf32", (char *)NULL);
	_exit(errno == ENOEXEC ? 101 : 102);
}

static const struct {
	const char *name;
	long (*run)(void);
} ways[] = { { "interrupt", by_interrupt }, { "far_jump", by_far_jump },
	{ "x32", by_x32 }, { "elf32", by_elf32 } };

#endif

void
probe_abi(const char *which)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
#if defined(__x86_64__)
		for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
			if (strcmp(ways[i].name, which) == 0)
				_exit(ways[i].run() > 0 ? 0 : 100);
#endif
		_exit(99);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s=SIG%s\n", which, sigabbrev_np(WTERMSIG(status)));
	else
		printf("%s=exit %d\n", which, WEXITSTATUS(status));
}

/* ---- 30 ---- */

void
probe_whoami(const char *unused)
{
	(void)unused;
	printf("uid=%d\neuid=%d\ngid=%d\negid=%d\n", (int)getuid(),
	    (int)geteuid(), (int)getgid(), (int)getegid());
	printf("CapEff=%lx\nCapPrm=%lx\n", status_caps("CapEff"),
	    status_caps("CapPrm"));
}

/* ---- 66 ---- */

static void
show(const char *path)
{
	char buf[8192];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf - 1);

	if (n >= 0)
		printf("%.*s\n", (int)n, buf);
	if (fd >= 0)
		close(fd);
}

void
probe_leaks(const char *unused)
{
	struct utsname u;
	gid_t group[64];

	(void)unused;
	show("/proc/self/mountinfo");
	show("/proc/self/cgroup");
	show("/proc/self/mounts");
	show("/proc/self/net/unix");
	show("/proc/1/cgroup");
	uname(&u);
	printf("%s %s\n", u.nodename, u.domainname);
	printf("groups=%d\n", getgroups(64, group));
}
