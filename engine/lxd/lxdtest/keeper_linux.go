package lxdtest

import (
	"runtime"
	"syscall"
)

// runKeeper starts the process that keeps the daemon running, and waits for it. The kernel
// ends that process with the thread that started it, so the thread stays here.
func (s *Server) runKeeper(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	err := s.keeper.Start()
	started <- err
	if err == nil {
		s.ended <- s.keeper.Wait()
	}
}
