//go:build !linux

package kubetest

import "os/exec"

// leash does nothing: where the kernel cannot tie a program to its parent, a
// killed test leaves its programs behind.
func leash(*exec.Cmd) {}
