package lxdtest

import (
	"runtime"
	"syscall"
)

// watch starts the process that keeps the daemon, and waits for it. The kernel
// ends that process with the thread that started it, so the thread stays here.
func (s *Server) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s.keep.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	err := s.keep.Start()
	started <- err
	if err == nil {
		s.ended <- s.keep.Wait()
	}
}
