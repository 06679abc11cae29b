package host

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// untrustedError says that an LXD which runs already lets nobody in with the
// certificate: nothing that goes on there will change that.
func untrustedError(want engine.HostSpec, e engine.Endpoint, cause error) error {
	return &engine.Error{
		Type: engine.HostUnavailable, Host: want.Name, Err: cause,
		Message: fmt.Sprintf("the LXD at %s does not trust the client certificate %s", e.Address, want.Credentials.Fingerprint()),
		Hint:    fmt.Sprintf("Make it trust the certificate: lxc config trust add FILE.crt --restricted --projects %s", want.Project),
	}
}

// checkTrust refuses to register a machine that was deployed with another
// certificate than the one at hand: its LXD would let nobody in.
func checkTrust(want engine.HostSpec, m engine.Machine) error {
	noted, atHand := m.OwnerData[engine.FingerprintData], want.Credentials.Fingerprint()
	if noted == "" || noted == atHand {
		return nil
	}
	for _, certificate := range want.LXD.TrustedCertificates { // a rotation: it was made to trust both
		if (engine.Credentials{Certificate: certificate}).Fingerprint() == noted {
			return nil
		}
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("machine %s was deployed to trust the client certificate %s, and the one at hand is %s", m.Hostname, noted, atHand),
		Hint:    "Give the pair with which it was deployed; if that is lost, release the machine and deploy it anew.", Err: engine.ErrForbidden,
	}
}

// handOverCredentials gives MAAS the credentials at hand where the VM host was registered
// with others, and notes them on its machine. That the LXD trusts them is for
// the caller to know.
func (h *stepBase) handOverCredentials(ctx context.Context, want engine.HostSpec, record engine.VMHost, m engine.Machine) (engine.Machine, error) {
	noted, atHand := m.OwnerData[engine.FingerprintData], want.Credentials.Fingerprint()
	if atHand == "" {
		return m, nil // nobody has told the pair
	}
	if noted != "" && noted != atHand {
		if err := h.updateVMHost(ctx, record, engine.HostUpdate{Credentials: &want.Credentials}); err != nil {
			return m, err
		}
	}
	return h.Annotate(ctx, m, map[string]string{engine.FingerprintData: atHand})
}
