//go:build !unix

package main

import "os/exec"

// setProcessGroup does nothing: on this system a Ctrl-C reaches the simulator,
// too.
func setProcessGroup(*exec.Cmd) {}
