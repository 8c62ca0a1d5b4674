// Package child runs a server of somebody else's (postgres, redis-server) as a
// child process that never outlives this process.
//
// It owns the start, the watch and the orderly stop of one process and what the
// process writes. It must not know what the process is for.
//
// Linux and macOS only. On Linux the kernel signals the child when we die
// (prctl(2), PR_SET_PDEATHSIG); elsewhere a small shell waits on a pipe that
// closes with us, and then signals the child.
package child
