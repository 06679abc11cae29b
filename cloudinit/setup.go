package cloudinit

import (
	"errors"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// Setup is all that a host's LXD is to have, in the words of LXD's API: what
// the preseed says, and what a preseed cannot say. It is for an LXD that runs
// already, to which no first boot will come.
type Setup struct {
	Listen       string // core.https_address
	StoragePools []api.StoragePoolsPost
	// Networks are those that LXD is to make.
	Networks []api.NetworksPost
	// Interfaces of the machine must be there already.
	Interfaces []Interface
	Project    api.ProjectsPost
	// Profile is one of the project ProfileProject: the host's own or, where
	// that has no profiles for itself, LXD's "default".
	Profile        api.ProfilesPost
	ProfileProject string
	Certificates   []PublicCertificate
}

// Interface is an interface of the machine that VMs are put on.
type Interface struct {
	Name string
	Kind NetworkKind // Bridge: it is one; Macvlan: it is what VMs are put beside
}

// PublicCertificate is a client's certificate, to be trusted for the host's
// project alone.
type PublicCertificate struct {
	Fingerprint string // SHA-256 of its DER, in hex
	PEM         string
}

// Setup is what LXD is to have, or the error of Validate. A host that lists no
// certificate passes here: an LXD that runs already may trust whom it should.
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

// validateExcept is Validate without what it says of a whole field.
func (h Host) validateExcept(field fieldpath.Path) error {
	var left []error
	for _, e := range FieldErrors(h.Validate()) {
		if !e.Field.Equal(field) {
			left = append(left, e)
		}
	}
	return errors.Join(left...)
}
