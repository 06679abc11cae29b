//go:build !unix

package main

import "os/exec"

// keepApart does nothing: a Ctrl-C reaches the command, too.
func keepApart(*exec.Cmd) {}
