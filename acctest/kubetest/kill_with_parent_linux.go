package kubetest

import (
	"os/exec"
	"syscall"
)

// killWithParent makes the kernel kill the program when its parent dies. So a
// killed test leaves nothing behind.
func killWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
