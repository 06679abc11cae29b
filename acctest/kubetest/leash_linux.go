package kubetest

import (
	"os/exec"
	"syscall"
)

// leash makes the kernel kill the program when its parent dies: a killed test
// leaves nothing behind.
func leash(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
