/* Loaded before the C library (LD_PRELOAD): sees whatever the processes of a recording do to the files below one
 * folder, and what leaves them (over sockets, and to stdout). Each such operation has a number; at one of them the
 * process, or the whole recording, is stopped. See watch.py for what the variables mean.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { CREATE = 1, WRITE, SYNC, TRUNCATE, RENAME, UNLINK, MAKE_FOLDER, REMOVE_FOLDER, SENT, SAID, UNKNOWN };

struct shared {
    _Atomic uint32_t lock;
    _Atomic uint32_t stopped;
    _Atomic uint64_t count;
};

struct record {
    uint32_t kind, pid;
    uint64_t node;
    int64_t at;
    uint32_t path_size, data_size;
};

static struct shared *shared;
static char folder[PATH_MAX];
static size_t folder_size;
static const char *log_path;
static uint64_t stop_at;
static char how;
static int half;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

__attribute__((constructor)) static void begin(void)
{
    const char *state = getenv("WATCH_STATE"), *below = getenv("WATCH_FOLDER");
    if (!state || !below || strncmp(program_invocation_short_name, "python", 6))
        return;  /* what else a recording starts, such as git, writes nothing that is to last */
    snprintf(folder, sizeof folder, "%s", below);
    folder_size = strlen(folder);
    log_path = getenv("WATCH_LOG");
    stop_at = getenv("WATCH_STOP") ? strtoull(getenv("WATCH_STOP"), NULL, 10) : 0;
    how = getenv("WATCH_HOW") ? *getenv("WATCH_HOW") : 'p';
    half = getenv("WATCH_HALF") != NULL;
    int fd = REAL(open)(state, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *map = REAL(mmap)(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        shared = map;
}

/* --- what is watched --- */

static int is_below(const char *path)
{
    return shared && !strncmp(path, folder, folder_size) && (path[folder_size] == '/' || !path[folder_size]);
}

static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    return is_below(path);
}

static int path_at(int at, const char *name, char *path)
{
    char base[PATH_MAX];
    if (!shared || !name)
        return 0;
    if (*name == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        if (at == AT_FDCWD ? !getcwd(base, sizeof base) : (path_of(at, base), 0))
            return 0;
        snprintf(path, PATH_MAX, "%.2000s/%.2000s", base, name);
    }
    return is_below(path);
}

static uint64_t node_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) ? 0 : status.st_ino;
}

static int is_there(const char *path)
{
    struct stat status;
    return !lstat(path, &status);
}

/* --- one operation --- */

static void stop(void)
{
    shared->stopped = 1;
    if (how == 'r' && getpid() != getpgrp()) {  /* the recorder, which leads the group; this process goes on */
        kill(getpgrp(), SIGKILL);
        return;
    }
    kill(how == 'a' ? 0 : getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Whether the operation that begins is the one to be cut in two. */
static int enter(int can_be_cut)
{
    uint32_t free = 0;
    if (log_path)
        while (!__atomic_compare_exchange_n((uint32_t *)&shared->lock, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            free = 0;
            sched_yield();
        }
    uint64_t number = __atomic_add_fetch((uint64_t *)&shared->count, 1, __ATOMIC_RELAXED);
    if (number != stop_at)
        return 0;
    if (half && can_be_cut)
        return 1;
    stop();
    return 0;
}

static void leave(int done, enum kind kind, uint64_t node, int64_t at, const char *path, const void *data, size_t size)
{
    int before = errno;
    if (!log_path)
        return;
    if (done) {
        struct record record = {kind, getpid(), node, at, path ? strlen(path) : 0, size};
        struct iovec parts[3] = {{&record, sizeof record}, {(void *)path, record.path_size}, {(void *)data, size}};
        int fd = REAL(open)(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || REAL(writev)(fd, parts, 3) != (ssize_t)(sizeof record + record.path_size + size))
            abort();
        close(fd);
    }
    __atomic_store_n((uint32_t *)&shared->lock, 0, __ATOMIC_RELEASE);
    errno = before;
}

static void unknown(const char *name)
{
    enter(0);
    leave(1, UNKNOWN, 0, 0, name, NULL, 0);
}

/* --- opening --- */

static int opened(int at, const char *name, int flags, mode_t mode)
{
    char path[PATH_MAX];
    __typeof__(&openat) original = REAL(openat);
    if (!(flags & (O_CREAT | O_TRUNC)) || !path_at(at, name, path))
        return original(at, name, flags, mode);
    int there = is_there(path);
    if (there ? !(flags & O_TRUNC) || (flags & O_EXCL) : !(flags & O_CREAT))
        return original(at, name, flags, mode);
    enter(0);
    int fd = original(at, name, flags, mode);
    leave(fd >= 0, there ? TRUNCATE : CREATE, fd >= 0 ? node_of(fd) : 0, 0, path, NULL, 0);
    return fd;
}

#define MODE(flags) ({ mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); \
    mode = va_arg(rest, int); va_end(rest); } mode; })

int open(const char *name, int flags, ...) { return opened(AT_FDCWD, name, flags, MODE(flags)); }
int open64(const char *name, int flags, ...) { return opened(AT_FDCWD, name, flags | O_LARGEFILE, MODE(flags)); }
int openat(int at, const char *name, int flags, ...) { return opened(at, name, flags, MODE(flags)); }
int openat64(int at, const char *name, int flags, ...) { return opened(at, name, flags | O_LARGEFILE, MODE(flags)); }
int creat(const char *name, mode_t mode) { return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *name, mode_t mode) { return creat(name, mode); }

/* --- writing --- */

static ssize_t written(int fd, const void *data, size_t size, off64_t at)
{
    __typeof__(&pwrite64) original = REAL(pwrite64);
    char path[PATH_MAX];
    if (!shared || !path_of(fd, path))
        return original(fd, data, size, at);
    if (enter(size > 1)) {
        original(fd, data, size / 2, at);
        stop();
    }
    ssize_t done = original(fd, data, size, at);
    leave(done > 0, WRITE, node_of(fd), at, path, data, done > 0 ? done : 0);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return written(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return written(fd, data, size, at); }

static int goes_out(int fd)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    return shared && !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) && (domain == AF_INET || domain == AF_INET6);
}

ssize_t write(int fd, const void *data, size_t size)
{
    __typeof__(&write) original = REAL(write);
    char path[PATH_MAX];
    enum kind kind;
    int64_t at = fd;
    if (!shared)
        return original(fd, data, size);
    if (fd == 1)
        kind = SAID;
    else if (goes_out(fd))
        kind = SENT;
    else if (path_of(fd, path))
        kind = WRITE;
    else
        return original(fd, data, size);
    int cut = enter(kind == WRITE && size > 1);
    if (kind == WRITE)
        at = fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
    if (cut) {
        original(fd, data, size / 2);
        stop();
    }
    ssize_t done = original(fd, data, size);
    leave(done > 0, kind, kind == WRITE ? node_of(fd) : 0, at, kind == WRITE ? path : "", data, done > 0 ? done : 0);
    return done;
}

/* What is copied from file to file. */
ssize_t sendfile64(int to, int from, off64_t *at, size_t size)
{
    __typeof__(&sendfile64) original = REAL(sendfile64);
    char path[PATH_MAX], *copied = NULL;
    if (!shared || !path_of(to, path))
        return original(to, from, at, size);
    int cut = enter(size > 1);
    off64_t start = at ? *at : lseek64(from, 0, SEEK_CUR), end = lseek64(to, 0, SEEK_CUR);
    if (cut) {
        struct stat status;
        original(to, from, at, fstat(from, &status) ? 1 : (size_t)status.st_size / 2);
        stop();
    }
    ssize_t done = original(to, from, at, size);
    if (done > 0 && (!(copied = malloc(done)) || pread64(from, copied, done, start) != done))
        abort();
    leave(done > 0, WRITE, node_of(to), end, path, copied, done > 0 ? done : 0);
    free(copied);
    return done;
}

ssize_t sendfile(int to, int from, off_t *at, size_t size) { return sendfile64(to, from, at, size); }

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size)
{
    __typeof__(&sendto) original = REAL(sendto);
    if (!goes_out(fd))
        return original(fd, data, size, flags, to, to_size);
    enter(0);
    ssize_t done = original(fd, data, size, flags, to, to_size);
    leave(done > 0, SENT, 0, fd, "", data, done > 0 ? done : 0);
    return done;
}

ssize_t send(int fd, const void *data, size_t size, int flags) { return sendto(fd, data, size, flags, NULL, 0); }

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    __typeof__(&sendmsg) original = REAL(sendmsg);
    if (!goes_out(fd))
        return original(fd, message, flags);
    enter(0);
    ssize_t done = original(fd, message, flags);
    struct iovec *first = message->msg_iovlen ? message->msg_iov : NULL;
    leave(done > 0, SENT, 0, fd, "", first ? first->iov_base : NULL, first && done > 0 ? first->iov_len : 0);
    return done;
}

/* --- syncing and cutting --- */

#define SYNCS(name) \
    int name(int fd) \
    { \
        __typeof__(&name) original = REAL(name); \
        char path[PATH_MAX]; \
        if (!shared || !path_of(fd, path)) \
            return original(fd); \
        enter(0); \
        int status = original(fd); \
        leave(!status, SYNC, node_of(fd), 0, path, NULL, 0); \
        return status; \
    }

SYNCS(fsync)
SYNCS(fdatasync)

static int truncated(int fd, off64_t size)
{
    __typeof__(&ftruncate64) original = REAL(ftruncate64);
    char path[PATH_MAX];
    if (!shared || !path_of(fd, path))
        return original(fd, size);
    enter(0);
    int status = original(fd, size);
    leave(!status, TRUNCATE, node_of(fd), size, path, NULL, 0);
    return status;
}

int ftruncate(int fd, off_t size) { return truncated(fd, size); }
int ftruncate64(int fd, off64_t size) { return truncated(fd, size); }

/* --- names --- */

static int renamed(int from_at, const char *from, int to_at, const char *to)
{
    char old[PATH_MAX], new[PATH_MAX];
    __typeof__(&renameat) original = REAL(renameat);
    int watched = path_at(from_at, from, old) | path_at(to_at, to, new);
    if (!watched)
        return original(from_at, from, to_at, to);
    enter(0);
    int status = original(from_at, from, to_at, to);
    leave(!status, RENAME, 0, 0, old, new, strlen(new));
    return status;
}

int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int from_at, const char *from, int to_at, const char *to) { return renamed(from_at, from, to_at, to); }

int unlinkat(int at, const char *name, int flags)
{
    char path[PATH_MAX];
    __typeof__(&unlinkat) original = REAL(unlinkat);
    if (!path_at(at, name, path) || !is_there(path))
        return original(at, name, flags);
    enter(0);
    int status = original(at, name, flags);
    leave(!status, flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK, 0, 0, path, NULL, 0);
    return status;
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int at, const char *name, mode_t mode)
{
    char path[PATH_MAX];
    struct stat made;
    __typeof__(&mkdirat) original = REAL(mkdirat);
    if (!path_at(at, name, path) || is_there(path))
        return original(at, name, mode);
    enter(0);
    int status = original(at, name, mode);
    int done = !status && !lstat(path, &made);
    leave(done, MAKE_FOLDER, done ? made.st_ino : 0, 0, path, NULL, 0);
    return status;
}

int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* --- what nobody has needed so far: seen, so that nothing is missed in silence --- */

#define REFUSED(result, name, parameters, arguments, file) \
    result name parameters \
    { \
        char path[PATH_MAX]; \
        if (shared && path_of(file, path)) \
            unknown(#name); \
        return REAL(name) arguments; \
    }

REFUSED(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), fd)
REFUSED(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), fd)
REFUSED(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at), fd)
REFUSED(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), fd)
REFUSED(int, fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size), fd)
REFUSED(int, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size), fd)
REFUSED(int, posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size), fd)
REFUSED(ssize_t, copy_file_range, (int from, off64_t *a, int to, off64_t *b, size_t size, unsigned flags),
        (from, a, to, b, size, flags), to)

#define REFUSED_NAME(name, parameters, arguments, at, named) \
    int name parameters \
    { \
        char path[PATH_MAX]; \
        if (path_at(at, named, path)) \
            unknown(#name); \
        return REAL(name) arguments; \
    }

REFUSED_NAME(truncate, (const char *path_, off_t size), (path_, size), AT_FDCWD, path_)
REFUSED_NAME(truncate64, (const char *path_, off64_t size), (path_, size), AT_FDCWD, path_)
REFUSED_NAME(link, (const char *from, const char *to), (from, to), AT_FDCWD, to)
REFUSED_NAME(linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags), b, to)
REFUSED_NAME(symlink, (const char *from, const char *to), (from, to), AT_FDCWD, to)
REFUSED_NAME(symlinkat, (const char *from, int at, const char *to), (from, at, to), at, to)
REFUSED_NAME(renameat2, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags), b, to)

/* Memory that is a file's: SQLite's own index of its log is, and is made anew after a crash. */
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t at)
{
    char path[PATH_MAX];
    int writes = fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE);
    if (shared && writes && path_of(fd, path) && strcmp(path + strlen(path) - 4, "-shm"))
        unknown("mmap");
    return REAL(mmap64)(address, size, protection, flags, fd, at);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t at)
{
    return mmap64(address, size, protection, flags, fd, at);
}
