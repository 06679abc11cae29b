//go:build !linux

package kubetest

import "os/exec"

// killWithParent does nothing: this kernel cannot tie a program to its parent.
// A killed test leaves its programs behind.
func killWithParent(*exec.Cmd) {}
