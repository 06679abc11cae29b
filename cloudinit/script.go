package cloudinit

import (
	_ "embed" // the scripts
	"fmt"
	"strings"
)

// The scripts are constant text; what differs from host to host are variables
// set before it, and calls of its functions after it.
var (
	//go:embed scripts/lxd.sh
	lxdScript string
	//go:embed scripts/boothook.sh
	boothookScript string
	//go:embed scripts/host.sh
	hostScript string
)

// boothook is the script that installs LXD.
func (h Host) boothook() string {
	var pools, overwritten []string
	for _, name := range names(h.StoragePools) {
		if pool := h.StoragePools[name]; pool.onDisk() {
			pools = append(pools, name+":"+string(pool.Driver))
			if pool.Driver == ZFS {
				overwritten = append(overwritten, name+":"+pool.Source)
			}
		}
	}
	var s script
	s.begin(h.Channel)
	s.assign("DISK_POOLS", strings.Join(pools, " "))
	s.assign("ZFS_DISKS", strings.Join(overwritten, " "))
	s.text(lxdScript)
	s.text(boothookScript)
	return s.String()
}

// script is the one that finishes the host.
func (h Host) script() (string, error) {
	var s script
	s.begin(h.Channel)
	s.text(lxdScript)
	s.text(hostScript)
	s.call("ensure_lxd")
	s.call("await_lxd")
	for _, name := range names(h.StoragePools) {
		s.call("want_pool", name, string(h.StoragePools[name].Driver))
	}
	h.wantNetworks(&s)
	s.call("want_project", h.Project.Name)
	s.call("want_listening")
	if h.ownProfiles() {
		profile, err := marshal(h.profile())
		if err != nil {
			return "", err
		}
		s.feed(string(profile), "ensure_profile", h.Profile.Name, h.Project.Name)
	}
	for _, c := range h.certificates() {
		s.feed(c.pem, "ensure_trust", c.fingerprint, h.Project.Name)
	}
	s.call("say", "the host is ready")
	return s.String(), nil
}

func (h Host) wantNetworks(s *script) {
	for _, name := range names(h.Networks) {
		switch n := h.Networks[name]; n.Kind {
		case Managed:
			s.call("want_network", name)
		case Macvlan:
			s.call("want_interface", n.Parent, "the network "+name+" puts VMs beside it")
		default:
			s.call("want_interface", name, "MAAS was to make this bridge on the machine")
		}
	}
}

// script is a shell script in the making.
type script struct{ strings.Builder }

func (s *script) begin(channel string) {
	s.text("#!/bin/sh\n# Written by maaslxd: a machine becomes an LXD host.\nset -eu\n")
	s.assign("CHANNEL", channel)
}

func (s *script) text(text string) { s.WriteString(text) }

func (s *script) assign(name, value string) { fmt.Fprintf(s, "%s=%s\n", name, quoted(value)) }

func (s *script) call(command string, arguments ...string) { s.line(command, arguments); s.text("\n") }

// feed calls a command with text as its standard input. The end mark is one
// that the text does not have as a line.
func (s *script) feed(input, command string, arguments ...string) {
	end := "EOF"
	for strings.Contains("\n"+input, "\n"+end+"\n") {
		end += "F"
	}
	s.line(command, arguments)
	fmt.Fprintf(s, " <<'%s'\n%s%s\n", end, input, end)
}

func (s *script) line(command string, arguments []string) {
	s.text(command)
	for _, argument := range arguments {
		s.text(" " + quoted(argument))
	}
}

// quoted is the text as one word of a shell, whatever it contains.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
