//go:build !linux

package child

import "syscall"

// setDeathSignal does nothing: only Linux has a parent-death signal.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

func guard(pid int, sig syscall.Signal) (release func(), err error) { return watchdog(pid, sig) }
