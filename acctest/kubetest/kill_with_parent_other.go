//go:build !linux

package kubetest

import "os/exec"

// killWithParent does nothing: where the kernel cannot tie a program to its parent, a
// killed test leaves its programs behind.
func killWithParent(*exec.Cmd) {}
