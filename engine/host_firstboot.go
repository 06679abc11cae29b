package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// firstBootConfig is the whole first boot that the spec describes.
func (want HostSpec) firstBootConfig() cloudinit.Host {
	host := want.LXD
	host.Project.Name = want.Project
	if want.Bridge != nil && len(host.Networks) == 0 {
		host.Networks = map[string]cloudinit.Network{want.Bridge.Name: {Kind: cloudinit.Bridge}}
	}
	if want.Network != nil && len(host.Networks) == 0 {
		host.Networks = map[string]cloudinit.Network{}
		for name := range want.Network.Bridges {
			host.Networks[name] = cloudinit.Network{Kind: cloudinit.Bridge}
		}
	}
	// While the pair is unknown, the other trusted certificates stand for it, and nothing is
	// installed.
	known := want.Credentials.Fingerprint() != "" || len(host.TrustedCertificates) == 0
	if known && !slices.Contains(host.TrustedCertificates, want.Credentials.Certificate) {
		host.TrustedCertificates = append([]string{want.Credentials.Certificate}, host.TrustedCertificates...)
	}
	if d := want.Machine.Deploy; d != nil && len(d.UserData) > 0 {
		host.Extra = append(slices.Clone(host.Extra), d.UserData)
	}
	return host
}

// validateFirstBoot checks the first boot as far as possible before a machine exists.
func (want HostSpec) validateFirstBoot() error {
	if want.Bridge == nil && want.Network == nil && len(want.LXD.Networks) == 0 {
		return &SpecError{
			Field: fieldpath.New("lxd", "networks"), Message: "VMs have no network to join: no bridge is made on the machine, and none is named",
			Hint: "Set bridge to make one, or name an interface of the machine: a bridge that MAAS knows, or a NIC for macvlan.", Err: ErrInvalid,
		}
	}
	return want.firstBootErrors(want.firstBootConfig().Validate())
}

// UserData is the user-data that the host's machine is deployed with. The error is a
// *SpecError, or several joined ones.
func (want HostSpec) UserData() ([]byte, error) {
	data, err := want.firstBootConfig().Render()
	return data, want.firstBootErrors(err)
}

// firstBootErrors turns cloudinit's errors into errors about fields of the spec.
func (want HostSpec) firstBootErrors(err error) error {
	if err == nil {
		return nil
	}
	var refused *cloudinit.MergeError
	if errors.As(err, &refused) {
		return want.userDataMergeError(refused)
	}
	var all []error
	for _, f := range cloudinit.FieldErrors(err) {
		all = append(all, &SpecError{Field: fieldpath.New("lxd").Join(f.Field), Message: f.Message, Hint: capitalize(f.Hint), Err: ErrInvalid})
	}
	if len(all) == 0 {
		return MarkTerminal(err)
	}
	return errors.Join(all...)
}

// userDataMergeError names the user-data that collides, and its part.
func (want HostSpec) userDataMergeError(refused *cloudinit.MergeError) error {
	bad := &SpecError{Field: fieldpath.New("deploy", "user_data"), Message: refused.Message, Hint: capitalize(refused.Hint), Err: ErrInvalid}
	if n := refused.Document; n > 0 && n <= len(want.LXD.Extra) {
		bad.Field = fieldpath.New("lxd", "extra").Index(n - 1)
	}
	if refused.Part != "" {
		bad.Message = "part " + refused.Part + ": " + bad.Message
	}
	return bad
}

// capitalize begins a hint as a sentence. The hints of cloudinit begin with an ordinary word,
// never with a name.
func capitalize(hint string) string {
	if hint == "" {
		return ""
	}
	return strings.ToUpper(hint[:1]) + hint[1:]
}

// FilePoolSizeGB is the size of a pool on the disk that the machine boots from.
func FilePoolSizeGB(p cloudinit.StoragePool) int64 {
	files := []cloudinit.Driver{"", cloudinit.ZFS, cloudinit.Btrfs, cloudinit.LVM}
	switch {
	case p.Source != "" || !slices.Contains(files, p.Driver):
		return 0
	case p.SizeGB != 0:
		return p.SizeGB
	}
	return cloudinit.DefaultPoolSizeGB
}
