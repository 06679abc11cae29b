package cloudinit

import (
	_ "embed" // the scripts
	"fmt"
	"strings"
)

// The scripts are constant texts. Per host, variables are set before the text, and
// functions are called after it.
var (
	//go:embed scripts/lxd.sh
	lxdScript string
	//go:embed scripts/boothook.sh
	boothookScript string
	//go:embed scripts/host.sh
	hostScript string
)

// installScript returns the script that installs LXD.
func (h Host) installScript() string {
	var pools, overwritten []string
	for _, name := range sortedNames(h.StoragePools) {
		if pool := h.StoragePools[name]; pool.isOnDisk() {
			pools = append(pools, name+":"+string(pool.Driver))
			if pool.Driver == ZFS {
				overwritten = append(overwritten, name+":"+pool.Source)
			}
		}
	}
	var s scriptWriter
	s.writeHead(h.Channel)
	s.writeAssignment("DISK_POOLS", strings.Join(pools, " "))
	s.writeAssignment("ZFS_DISKS", strings.Join(overwritten, " "))
	s.writeText(lxdScript)
	s.writeText(boothookScript)
	return s.String()
}

// finishScript returns the script that finishes the host.
func (h Host) finishScript() (string, error) {
	var s scriptWriter
	s.writeHead(h.Channel)
	s.writeText(lxdScript)
	s.writeText(hostScript)
	s.writeCall("ensure_lxd")
	s.writeCall("await_lxd")
	for _, name := range sortedNames(h.StoragePools) {
		s.writeCall("want_pool", name, string(h.StoragePools[name].Driver))
	}
	h.writeNetworkChecks(&s)
	s.writeCall("want_project", h.Project.Name)
	s.writeCall("want_listening")
	if h.hasOwnProfiles() {
		profile, err := marshalChecked(h.profileRequest())
		if err != nil {
			return "", err
		}
		s.writeCallWithInput(string(profile), "ensure_profile", h.Profile.Name, h.Project.Name)
	}
	for _, c := range h.parsedCertificates() {
		s.writeCallWithInput(c.pem, "ensure_trust", c.fingerprint, h.Project.Name)
	}
	s.writeCall("say", "the host is ready")
	return s.String(), nil
}

func (h Host) writeNetworkChecks(s *scriptWriter) {
	for _, name := range sortedNames(h.Networks) {
		switch n := h.Networks[name]; n.Kind {
		case Managed:
			s.writeCall("want_network", name)
		case Macvlan:
			s.writeCall("want_interface", n.Parent, "the network "+name+" puts VMs beside it")
		default:
			s.writeCall("want_interface", name, "MAAS was to make this bridge on the machine")
		}
	}
}

// scriptWriter writes a shell script.
type scriptWriter struct{ strings.Builder }

func (s *scriptWriter) writeHead(channel string) {
	s.writeText("#!/bin/sh\n# Written by maaslxd: a machine becomes an LXD host.\nset -eu\n")
	s.writeAssignment("CHANNEL", channel)
}

func (s *scriptWriter) writeText(text string) { s.WriteString(text) }

func (s *scriptWriter) writeAssignment(name, value string) {
	fmt.Fprintf(s, "%s=%s\n", name, shellQuote(value))
}

func (s *scriptWriter) writeCall(command string, arguments ...string) {
	s.writeCommand(command, arguments)
	s.writeText("\n")
}

// writeCallWithInput calls a command with input as its standard input. The end mark is not
// a line of input.
func (s *scriptWriter) writeCallWithInput(input, command string, arguments ...string) {
	end := "EOF"
	for strings.Contains("\n"+input, "\n"+end+"\n") {
		end += "F"
	}
	s.writeCommand(command, arguments)
	fmt.Fprintf(s, " <<'%s'\n%s%s\n", end, input, end)
}

func (s *scriptWriter) writeCommand(command string, arguments []string) {
	s.writeText(command)
	for _, argument := range arguments {
		s.writeText(" " + shellQuote(argument))
	}
}

// shellQuote quotes a text as one word of a shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
