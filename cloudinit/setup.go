package cloudinit

import (
	"errors"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// Setup is everything that a host's LXD needs, in the types of LXD's API: the content of
// the preseed, and what a preseed cannot hold. It is for an LXD that already runs, so that
// no first boot sets it up.
type Setup struct {
	Listen       string // core.https_address
	StoragePools []api.StoragePoolsPost
	// Networks are those that LXD must make.
	Networks []api.NetworksPost
	// Interfaces of the machine must already exist.
	Interfaces []Interface
	Project    api.ProjectsPost
	// Profile is a profile of the project ProfileProject. That is the host's own project,
	// or LXD's "default" if the project has no profiles of its own.
	Profile        api.ProfilesPost
	ProfileProject string
	Certificates   []PublicCertificate
}

// Interface is an interface of the machine that VMs use.
type Interface struct {
	Name string
	Kind NetworkKind // Bridge: VMs join it; Macvlan: VMs connect to the NIC
}

// PublicCertificate is a client's certificate that LXD must trust for the host's project
// only.
type PublicCertificate struct {
	Fingerprint string // SHA-256 of its DER, in hex
	PEM         string
}

// Setup returns what LXD needs, or the error of Validate. It accepts a host that lists no
// certificate: a running LXD may already trust the right ones.
func (h Host) Setup() (Setup, error) {
	if err := h.validateExcept(fieldpath.New("trusted_certificates")); err != nil {
		return Setup{}, err
	}
	h = h.withDefaults()
	preseed := h.buildPreseed().Node
	s := Setup{
		Listen: h.httpsAddress(), StoragePools: preseed.StoragePools, Project: h.projectRequest(),
		Profile:        api.ProfilesPost{Name: h.Profile.Name, ProfilePut: h.profileRequest()},
		ProfileProject: api.ProjectDefaultName,
	}
	if h.hasOwnProfiles() {
		s.ProfileProject = h.Project.Name
	}
	for _, n := range preseed.Networks {
		s.Networks = append(s.Networks, n.NetworksPost)
	}
	for _, name := range sortedNames(h.Networks) {
		switch n := h.Networks[name]; n.Kind {
		case Bridge:
			s.Interfaces = append(s.Interfaces, Interface{name, Bridge})
		case Macvlan:
			s.Interfaces = append(s.Interfaces, Interface{n.Parent, Macvlan})
		}
	}
	for _, c := range h.parsedCertificates() {
		s.Certificates = append(s.Certificates, PublicCertificate{c.fingerprint, c.pem})
	}
	return s, nil
}

// validateExcept is Validate without the errors about one field.
func (h Host) validateExcept(field fieldpath.Path) error {
	var left []error
	for _, e := range FieldErrors(h.Validate()) {
		if !e.Field.Equal(field) {
			left = append(left, e)
		}
	}
	return errors.Join(left...)
}
