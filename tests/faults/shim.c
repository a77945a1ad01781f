/* Loaded before the C library: calls that change files under one folder fail now and then, as a disk's do.

   FAULTS_UNDER    the folder
   FAULTS_CONTROL  a file of 8 unsigned ints that is mapped: tests write it while the process runs
   FAULTS_SEED     of the dice
   FAULTS_JOURNAL  where it is noted what was written to which file, what was synced, what got which name: from that a
                   test knows what a disk has after the power was cut */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE_EIO = 1, WRITE_ENOSPC = 2, WRITE_SHORT = 4, SYNC_EIO = 8, TRUNCATE = 16, RENAME = 32, OPEN = 64, MAP = 128 };

struct control {
  volatile uint32_t per_million, kinds, held, always, faults, writes_only;
};

static struct control none, *control = &none;
static const char *under;
static size_t under_length;
static int journal = -1;
static uint64_t dice;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTS_CONTROL"), *seed = getenv("FAULTS_SEED"), *notes = getenv("FAULTS_JOURNAL");
  under = getenv("FAULTS_UNDER");
  if (under == NULL || path == NULL) return;
  under_length = strlen(under);
  dice = seed == NULL ? 1 : strtoull(seed, NULL, 10) * 2654435761u + 1;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *mapped = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != (void *)-1) control = mapped;
  syscall(SYS_close, fd);
  if (notes != NULL) journal = (int)syscall(SYS_openat, AT_FDCWD, notes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* For a process that is forked for another folder. */
void faults_begin(const char *folder, const char *journal_path, uint64_t seed) {
  under = strdup(folder);
  under_length = strlen(under);
  dice = seed * 2654435761u + 1;
  journal = (int)syscall(SYS_openat, AT_FDCWD, journal_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int watched(const char *path) {
  return under != NULL && strncmp(path, under, under_length) == 0 && (path[under_length] == '/' || !path[under_length]);
}

static int path_of(int fd, char *path) {
  char link[64];
  if (under == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (!watched(path)) return 0;
  /* The name by which it was opened was removed, and is its name again: SQLite's write-ahead log is kept so. */
  const ssize_t removed = sizeof " (deleted)" - 1;
  struct stat of_fd, of_path;
  if (length > removed && strcmp(path + length - removed, " (deleted)") == 0) {
    path[length - removed] = 0;
    if (fstat(fd, &of_fd) || stat(path, &of_path) || of_fd.st_ino != of_path.st_ino) path[length - removed] = ' ';
  }
  return 1;
}

/* Whether a call of this kind fails now; the caller has the turn. */
static int hit(uint32_t kinds) {
  if (control->always & kinds) return 1;
  if (!(control->kinds & kinds) || !control->per_million) return 0;
  dice ^= dice << 13; dice ^= dice >> 7; dice ^= dice << 17;
  if (dice % 1000000 >= control->per_million) return 0;
  control->faults++;
  return 1;
}

static void note(char kind, const char *path, uint64_t at, const void *data, uint32_t length) {
  if (journal < 0) return;
  struct __attribute__((packed)) { char kind; uint16_t path; uint64_t at; uint32_t length; } head = {
      kind, (uint16_t)strlen(path), at, length};
  struct iovec parts[3] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)data, length}};
  syscall(SYS_writev, journal, parts, data == NULL ? 2 : 3);
}

static ssize_t written(int fd, const void *data, size_t length, off_t at, int appends) {
  char path[PATH_MAX];
  int is_watched = path_of(fd, path);
  ssize_t done;
  if (!is_watched) return appends ? syscall(SYS_write, fd, data, length) : syscall(SYS_pwrite64, fd, data, length, at);
  pthread_mutex_lock(&turn);
  int failed = 0;
  if (hit(WRITE_EIO)) failed = EIO;
  else if (hit(WRITE_ENOSPC)) failed = ENOSPC;
  else if (length > 1 && hit(WRITE_SHORT)) length = length / 2;
  if (failed) { done = -1; errno = failed; }
  else {
    if (appends) at = syscall(SYS_lseek, fd, 0, SEEK_CUR);
    done = appends ? syscall(SYS_write, fd, data, length) : syscall(SYS_pwrite64, fd, data, length, at);
    if (done > 0) note('w', path, (uint64_t)at, data, (uint32_t)done);
  }
  int saved = errno;
  pthread_mutex_unlock(&turn);
  errno = saved;
  return done;
}

ssize_t write(int fd, const void *data, size_t length) { return written(fd, data, length, 0, 1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return written(fd, data, length, at, 0); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t at) { return written(fd, data, length, at, 0); }

static int synced(long call, int fd) {
  char path[PATH_MAX];
  if (!path_of(fd, path)) return (int)syscall(call, fd);
  while (control->held) {
    struct timespec moment = {0, 5000000L};
    nanosleep(&moment, NULL);
  }
  pthread_mutex_lock(&turn);
  int done = 0, saved = 0;
  if (hit(SYNC_EIO)) { note('f', path, 0, NULL, 0); done = -1; saved = EIO; }
  /* What the real disk does takes long and changes nothing here: no test cuts the real power. */
  else note('s', path, 0, NULL, 0);
  pthread_mutex_unlock(&turn);
  errno = saved;
  return done;
}

int fsync(int fd) { return synced(SYS_fsync, fd); }
int fdatasync(int fd) { return synced(SYS_fdatasync, fd); }

static int truncated(int fd, off_t length) {
  char path[PATH_MAX];
  if (!path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&turn);
  int done = -1, saved = EIO;
  if (!hit(TRUNCATE)) {
    done = (int)syscall(SYS_ftruncate, fd, length);
    saved = errno;
    if (done == 0) note('t', path, (uint64_t)length, NULL, 0);
  }
  pthread_mutex_unlock(&turn);
  errno = saved;
  return done;
}

int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off_t length) { return truncated(fd, length); }

int rename(const char *from, const char *to) {
  if (!watched(from) && !watched(to)) return (int)syscall(SYS_rename, from, to);
  pthread_mutex_lock(&turn);
  int done = -1, saved = EIO;
  if (!hit(RENAME)) {
    done = (int)syscall(SYS_rename, from, to);
    saved = errno;
    if (done == 0) note('r', from, 0, to, (uint32_t)strlen(to));
  }
  pthread_mutex_unlock(&turn);
  errno = saved;
  return done;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  pthread_mutex_lock(&turn);
  int done = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags), saved = errno;
  if (done == 0 && watched(from) && watched(to)) note('l', from, 0, to, (uint32_t)strlen(to));
  pthread_mutex_unlock(&turn);
  errno = saved;
  return done;
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

static int opened(int folder, const char *path, int flags, mode_t mode) {
  if (!watched(path)) return (int)syscall(SYS_openat, folder, path, flags, mode);
  int writes = (flags & O_ACCMODE) != O_RDONLY;
  pthread_mutex_lock(&turn);
  int failed = (writes || !control->writes_only) && hit(OPEN), made = 0;
  if (!failed && writes) made = (flags & O_TRUNC) || syscall(SYS_faccessat, folder, path, F_OK) != 0;
  int fd = failed ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
  int saved = failed ? (writes ? ENOSPC : EIO) : errno;
  if (fd >= 0 && made) note('t', path, 0, NULL, 0);
  pthread_mutex_unlock(&turn);
  errno = saved;
  return fd;
}

#define OPENED(name, before, folder)                              \
  int name {                                                      \
    mode_t mode = 0;                                              \
    if (flags & (O_CREAT | __O_TMPFILE)) {                        \
      va_list rest;                                               \
      va_start(rest, flags);                                      \
      mode = va_arg(rest, mode_t);                                \
      va_end(rest);                                               \
    }                                                             \
    return opened(folder, path, flags, mode);                     \
  }
OPENED(open(const char *path, int flags, ...), , AT_FDCWD)
OPENED(open64(const char *path, int flags, ...), , AT_FDCWD)
OPENED(openat(int folder, const char *path, int flags, ...), , folder)
OPENED(openat64(int folder, const char *path, int flags, ...), , folder)

static void *mapped(void *address, size_t length, int protection, int flags, int fd, off_t at) {
  char path[PATH_MAX];
  if (fd >= 0 && path_of(fd, path)) {
    pthread_mutex_lock(&turn);
    int failed = hit(MAP);
    pthread_mutex_unlock(&turn);
    if (failed) { errno = ENOMEM; return MAP_FAILED; }
  }
  return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, at);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t at) {
  return mapped(address, length, protection, flags, fd, at);
}
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t at) {
  return mapped(address, length, protection, flags, fd, at);
}
