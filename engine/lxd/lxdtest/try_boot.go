package lxdtest

import (
	"fmt"
	"strings"
	"time"
)

// bootCheckDelay is how long a VM must run before its start counts as successful.
const bootCheckDelay = 2 * time.Second

// TryBoot tries to start a VM, and returns LXD's error if that fails. A VM needs a kernel
// that lets root run qemu. exec.sh says what it does not need.
func (s *Server) TryBoot() error {
	const trial = "boots"
	if _, err := s.Run("", "lxc", "storage", "create", trial, "dir"); err != nil {
		return err
	}
	defer s.Run("", "lxc", "storage", "delete", trial) //nolint:errcheck // cleanup
	if _, err := s.Run("", "lxc", "init", trial, "--empty", "--vm", "--storage", trial, "--config", "security.secureboot=false"); err != nil {
		return err
	}
	defer s.Run("", "lxc", "delete", "--force", trial) //nolint:errcheck // cleanup: the VM ends with the LXD
	_, err := s.Run("", "lxc", "start", trial)
	if err == nil {
		time.Sleep(bootCheckDelay)
		if state, err := s.Run("", "lxc", "list", "--format=csv", "--columns=s", trial); err != nil || strings.TrimSpace(state) != "RUNNING" {
			return fmt.Errorf("a started VM is %s", strings.TrimSpace(state))
		}
		return nil
	}
	said := err.Error()
	if _, reason, found := strings.Cut(said, "Error: "); found {
		said, _, _ = strings.Cut(reason, "\n")
	}
	return fmt.Errorf("LXD cannot start a VM here: %s", strings.TrimSpace(said))
}
