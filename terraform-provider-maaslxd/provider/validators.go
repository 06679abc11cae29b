package provider

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

var (
	hostnameLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	mapKeyLabel   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	tagName       = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,256}$`)
	ownerPattern  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	groupPattern  = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,128}$`)
	hostPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	imageName     = regexp.MustCompile(`^[A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)?$`)
)

// stringRule is a validator of strings made of a sentence and a function that
// says what is wrong, with a way out, or "".
type stringRule struct {
	about string
	wrong func(string) string
}

func (r stringRule) Description(context.Context) string         { return r.about }
func (r stringRule) MarkdownDescription(context.Context) string { return r.about }

func (r stringRule) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if wrong := r.wrong(req.ConfigValue.ValueString()); wrong != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+req.Path.String(), wrong)
	}
}

// vmName passes hostnames that MAAS and LXD both take.
func vmName() validator.String {
	return stringRule{"one DNS label: 1 to 63 lower-case letters, digits and hyphens, which begins with a letter", wrongName}
}

func wrongName(name string) string {
	switch {
	case strings.Contains(name, "."):
		label, domain, _ := strings.Cut(name, ".")
		return fmt.Sprintf("%q has a dot. LXD refuses it in the name of a VM; the domain is a matter of its own: "+
			"write name = %q and domain = %q.", name, label, domain)
	case name != strings.ToLower(name):
		return fmt.Sprintf("%q has upper-case letters. MAAS finds machines by lower-case hostnames only: write %q.",
			name, strings.ToLower(name))
	case hostnameLabel.MatchString(name) && name[0] <= '9':
		return fmt.Sprintf("%q begins with a digit, which LXD refuses in the name of a VM. Put a letter before it.", name)
	case !hostnameLabel.MatchString(name):
		return fmt.Sprintf("%q is not a DNS label: 1 to 63 lower-case letters, digits and hyphens, "+
			"with no hyphen at either end.", name)
	default:
		return ""
	}
}

// mapLabel passes the keys of disks and interfaces. They stay in the
// configuration and in messages, where they should be easy to name.
func mapLabel() validator.String {
	return stringvalidator.RegexMatches(mapKeyLabel,
		"must be 1 to 32 lower-case letters, digits and hyphens, and begin with a letter or digit")
}

func tag() validator.String {
	return stringvalidator.RegexMatches(tagName, "must be 1 to 256 letters, digits, hyphens and underscores, as MAAS takes them in tags")
}

func ownerName() validator.String {
	return stringvalidator.RegexMatches(ownerPattern, "must be 1 to 64 letters, digits, dots, hyphens and underscores")
}

func groupName() validator.String {
	return stringvalidator.RegexMatches(groupPattern, "must be 1 to 128 letters, digits, dots, hyphens, underscores and slashes")
}

func image() validator.String {
	return stringvalidator.RegexMatches(imageName,
		`must be the name of an image as MAAS lists it, such as "ubuntu/noble" or "custom/mine"; leave it out for MAAS's default`)
}

// notEmpty refuses "", where leaving the attribute out is meant.
func notEmpty() validator.String {
	return stringRule{"not empty", func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "It is empty. Give a name, or leave the attribute out."
		}
		return ""
	}}
}

func ipAddress() validator.String {
	return stringRule{"an IP address", func(s string) string {
		if addr, err := netip.ParseAddr(s); err != nil || addr.Zone() != "" {
			return fmt.Sprintf("%q is not an IP address. Write one such as \"10.0.0.10\", without a mask; "+
				"leave it out to let MAAS assign one.", s)
		}
		return ""
	}}
}

// userDataSize refuses user-data that would not arrive.
func userDataSize() validator.String {
	return stringRule{fmt.Sprintf("at most %d bytes", engine.MaxUserDataBytes), func(s string) string {
		if len(s) > engine.MaxUserDataBytes {
			return fmt.Sprintf("It has %d bytes, and no more than %d reach MAAS safely. "+
				"Put large files on a server and let cloud-init fetch them, for instance with #include.",
				len(s), engine.MaxUserDataBytes)
		}
		return ""
	}}
}

// durationBetween passes durations such as "90s" from shortest to longest.
func durationBetween(shortest, longest time.Duration) validator.String {
	about := fmt.Sprintf("a duration from %s to %s", shortest, longest)
	return stringRule{about, func(s string) string {
		if d, err := time.ParseDuration(s); err != nil || d < shortest || d > longest {
			return fmt.Sprintf("%q is not %s. Write a number and a unit: \"500ms\", \"90s\", \"2m\".", s, about)
		}
		return ""
	}}
}

// hostName passes names of VM hosts. The name is part of the mark on the
// machine, and of paths in messages.
func hostName() validator.String {
	return stringvalidator.RegexMatches(hostPattern, "must be 1 to 63 letters, digits, dots, hyphens and underscores, beginning with a letter or digit")
}

// positive passes numbers above zero.
type positive struct{}

// Description says what passes.
func (positive) Description(context.Context) string { return "above 0" }

// MarkdownDescription says what passes.
func (p positive) MarkdownDescription(ctx context.Context) string { return p.Description(ctx) }

// ValidateFloat64 refuses zero and less.
func (positive) ValidateFloat64(_ context.Context, req validator.Float64Request, resp *validator.Float64Response) {
	if v := req.ConfigValue; !v.IsNull() && !v.IsUnknown() && !(v.ValueFloat64() > 0) {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+req.Path.String(),
			fmt.Sprintf("%g is no over-commit ratio: it must be above 0; 1 is none.", v.ValueFloat64()))
	}
}

// publicCertificate passes one certificate in PEM, and nothing secret.
func publicCertificate() validator.String {
	return stringRule{"one certificate in PEM", func(s string) string {
		_, err := lxd.Trusted(time.Now(), s)
		var bad *engine.SpecError
		if errors.As(err, &bad) {
			return "The certificate " + sentence(bad.Message) + " " + bad.Hint
		}
		if strings.TrimSpace(s) == "" {
			return "It is empty. Give one certificate in PEM."
		}
		return ""
	}}
}

// serverFingerprint passes what LXD writes, so that it can be compared.
func serverFingerprint() validator.String {
	return stringRule{"a SHA-256 as 64 hex digits in small letters", func(s string) string {
		plain := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), ":", ""))
		switch {
		case engine.IsFingerprint(s):
			return ""
		case engine.IsFingerprint(plain):
			return fmt.Sprintf("Write it as LXD does, in small letters and without colons: %q.", plain)
		}
		return fmt.Sprintf("%q is no SHA-256. Give the 64 hex digits that `lxc info` says on the host as certificate_fingerprint.", s)
	}}
}

// rootDisk refuses disks without a root disk.
type rootDisk struct{}

func (rootDisk) Description(context.Context) string { return `has a disk named "root"` }
func (r rootDisk) MarkdownDescription(ctx context.Context) string {
	return r.Description(ctx)
}

func (rootDisk) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, ok := req.ConfigValue.Elements()[rootDiskName]; !ok {
		resp.Diagnostics.AddAttributeError(req.Path, "No root disk",
			"One of the disks must be named \"root\": the VM boots from it. "+
				"For example: disks = { root = { size_gb = 20 }, data = { size_gb = 100 } }.")
	}
}
