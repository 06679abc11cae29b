//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// setProcessGroup gives a command a process group of its own, so that a Ctrl-C
// does not reach it.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
