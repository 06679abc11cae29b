package lxdtest

import (
	"fmt"
	"strings"
	"time"
)

// bootCheckDelay is how long a VM must have run for its processor to be one that can.
const bootCheckDelay = 2 * time.Second

// TryBoot tries whether a VM can be started, and returns LXD's own word if not: it
// needs a kernel that lets root run qemu. See exec.sh for what it does not need.
func (s *Server) TryBoot() error {
	const trial = "boots"
	if _, err := s.Run("", "lxc", "storage", "create", trial, "dir"); err != nil {
		return err
	}
	defer s.Run("", "lxc", "storage", "delete", trial) //nolint:errcheck // nobody asks for it
	if _, err := s.Run("", "lxc", "init", trial, "--empty", "--vm", "--storage", trial, "--config", "security.secureboot=false"); err != nil {
		return err
	}
	defer s.Run("", "lxc", "delete", "--force", trial) //nolint:errcheck // it ends with the LXD
	_, err := s.Run("", "lxc", "start", trial)
	if err == nil {
		time.Sleep(bootCheckDelay)
		if state, err := s.Run("", "lxc", "list", "--format=csv", "--columns=s", trial); err != nil || strings.TrimSpace(state) != "RUNNING" {
			return fmt.Errorf("one that was started is %s", strings.TrimSpace(state))
		}
		return nil
	}
	said := err.Error()
	if _, reason, found := strings.Cut(said, "Error: "); found {
		said, _, _ = strings.Cut(reason, "\n")
	}
	return fmt.Errorf("LXD cannot start one here: %s", strings.TrimSpace(said))
}
