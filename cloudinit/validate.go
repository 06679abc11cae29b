package cloudinit

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// Validate returns what cannot work in the host: joined FieldErrors, or nil. It finds
// settings that LXD accepts silently and fails on later, and settings that would fail on a
// machine only after minutes of deployment.
func (h Host) Validate() error {
	h = h.withDefaults()
	var p problems
	h.checkChannel(&p)
	h.checkListen(&p)
	h.checkPools(&p)
	h.checkNetworks(&p)
	h.checkProject(&p)
	h.checkProfile(&p)
	h.checkCertificates(&p)
	return errors.Join(p...)
}

// problems collects FieldErrors.
type problems []error

func (p *problems) add(field fieldpath.Path, message, hint string) {
	*p = append(*p, &FieldError{Field: field, Message: message, Hint: hint})
}

func (h Host) checkChannel(p *problems) {
	parts := strings.Split(h.Channel, "/")
	risky := len(parts) > 1 && slices.Contains([]string{"stable", "candidate", "beta", "edge"}, parts[1])
	if !channelPattern.MatchString(h.Channel) || !risky {
		p.add(fieldpath.New("channel"), fmt.Sprintf("%q is not a channel of a snap", h.Channel),
			"write it as track/risk, such as "+DefaultChannel+"; risks are stable, candidate, beta and edge")
	} else if isTooOldForMAAS(h.Channel) {
		p.add(fieldpath.New("channel"), h.Channel+" brings an LXD that is too old for MAAS, which needs 4.16 or newer", "take "+DefaultChannel)
	}
}

func (h Host) checkListen(p *problems) {
	if h.ListenAddress != "" {
		address, err := netip.ParseAddr(h.ListenAddress)
		if err != nil || address.Zone() != "" {
			p.add(fieldpath.New("listen_address"), fmt.Sprintf("%q is not an IP address", h.ListenAddress),
				"give an address of the machine without a port, or leave it out for all of them")
		} else if address.IsLoopback() || address.IsMulticast() {
			p.add(fieldpath.New("listen_address"), fmt.Sprintf("MAAS cannot reach LXD at %s", address),
				"give an address of the machine that MAAS can reach, or leave it out for all of them")
		}
	}
	if h.ListenPort < 1 || h.ListenPort > 65535 {
		p.add(fieldpath.New("listen_port"), fmt.Sprintf("%d is not a port", h.ListenPort), fmt.Sprintf("give a number from 1 to 65535; LXD's own is %d", DefaultPort))
	}
}

func (h Host) checkProject(p *problems) {
	if !projectPattern.MatchString(h.Project.Name) || len(h.Project.Name) > 63 {
		p.add(fieldpath.New("project", "name"), fmt.Sprintf("%q is not a valid name of an LXD project", h.Project.Name),
			"use up to 63 letters, digits, '-', '_' and '.', beginning with a letter or a digit")
	}
	if h.Project.Name == "default" && len(h.Project.Features) > 0 {
		p.add(fieldpath.New("project", "features"), "the features of the project default cannot be changed", "name another project")
	}
	for _, feature := range sortedNames(h.Project.Features) {
		if !slices.Contains(projectFeatures, feature) {
			p.add(fieldpath.New("project", "features").Key(feature), "LXD has no such feature of projects", "choose one of "+strings.Join(projectFeatures, ", "))
		}
	}
	for _, limit := range sortedNames(h.Project.Limits) {
		if !slices.Contains(projectLimits, limit) {
			p.add(fieldpath.New("project", "limits").Key(limit), "LXD has no such limit of projects", "choose one of "+strings.Join(projectLimits, ", "))
		} else if h.Project.Limits[limit] == "" {
			p.add(fieldpath.New("project", "limits").Key(limit), "it has no value", "leave it out, or give one")
		}
	}
}

func (h Host) checkProfile(p *problems) {
	if !namePattern.MatchString(h.Profile.Name) {
		p.add(fieldpath.New("profile", "name"), fmt.Sprintf("%q is not a valid name of an LXD profile", h.Profile.Name), nameHint)
	}
	checkChoice(p, fieldpath.New("profile", "pool"), "storage pool", h.Profile.Pool, sortedNames(h.StoragePools))
	checkChoice(p, fieldpath.New("profile", "network"), "network", h.Profile.Network, sortedNames(h.Networks))
	for _, key := range sortedNames(h.Profile.Config) {
		if !configKeyPattern.MatchString(key) {
			p.add(fieldpath.New("profile", "config"), fmt.Sprintf("%q is not a configuration key of LXD", key), `keys look like "limits.cpu"`)
		} else if isUserDataKey(key) {
			p.add(fieldpath.New("profile", "config"), key+" is user-data, which a profile does not keep secret", "leave it out; give each machine its own user-data when it is deployed")
		}
	}
}

// isUserDataKey reports whether LXD passes the value of the key to cloud-init in the
// instance.
func isUserDataKey(key string) bool {
	return strings.HasPrefix(key, "cloud-init.") ||
		slices.Contains([]string{"user.meta-data", "user.network-config", "user.user-data", "user.vendor-data"}, key)
}

// checkChoice requires the name of a described pool or network. LXD accepts a profile whose
// pool or parent does not exist, but then no instance can be made.
func checkChoice(p *problems, field fieldpath.Path, kind, name string, known []string) {
	list := strings.Join(known, ", ")
	switch {
	case name == "":
		p.add(field, fmt.Sprintf("there is more than one %s: %s", kind, list), "name the "+kind+" of the profile")
	case !slices.Contains(known, name):
		p.add(field, fmt.Sprintf("there is no %s %q", kind, name), "choose one of "+list)
	}
}

func (h Host) checkCertificates(p *problems) {
	if len(h.TrustedCertificates) == 0 {
		p.add(fieldpath.New("trusted_certificates"), "it is empty: nobody could use the host", "give the public certificate of the fleet")
	}
	seen := map[string]int{}
	for i, text := range h.TrustedCertificates {
		field := fieldpath.New("trusted_certificates").Index(i)
		c, message, hint := readCertificate(text, h.Now())
		if message != "" {
			p.add(field, message, hint)
			continue
		}
		if first, ok := seen[c.fingerprint]; ok {
			p.add(field, fmt.Sprintf("it is the same certificate as trusted_certificates[%d]", first), "list it once")
			continue
		}
		seen[c.fingerprint] = i
	}
}

// The names that LXD and snapd accept. Some patterns are narrower than theirs, so that no
// name ever needs quoting.
var (
	channelPattern   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-z]+(/[a-zA-Z0-9][a-zA-Z0-9._-]*)?$`)
	namePattern      = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$`)
	projectPattern   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)
	interfacePattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,14}$`)
	configKeyPattern = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_./-]*$`)
)

const nameHint = "use up to 63 letters, digits, '-', '_' and '.', beginning with a letter or a digit"

// Config keys of LXD's projects: lxd/api_project.go, projectValidateConfig.
var (
	projectFeatures = []string{"images", "networks", "networks.zones", "profiles", "storage.buckets", "storage.volumes"}
	projectLimits   = []string{"containers", "cpu", "disk", "instances", "memory", "networks", "processes", "virtual-machines"}
)
