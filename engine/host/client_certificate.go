package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// untrustedError says that an existing LXD does not trust the certificate: waiting will not
// change that. If the cause says only the same, the text does not repeat it.
func untrustedError(want engine.HostSpec, e engine.Endpoint, cause error) error {
	message := engine.UntrustedText(e.Address, want.Credentials.Fingerprint())
	if same, ok := errors.AsType[*engine.Error](cause); ok && same.Message == message {
		cause = same.Err
	}
	return &engine.Error{
		Type: engine.HostUnavailable, Host: want.Name, Err: cause, Message: message,
		Hint: fmt.Sprintf("Run on the host: lxc config trust add FILE.crt --restricted --projects %s. %s", want.Project, engine.CertificateFileHint),
	}
}

// checkTrust refuses to register a machine that was deployed with another certificate than the
// present one: its LXD would not trust it.
func checkTrust(want engine.HostSpec, m engine.Machine) error {
	noted, atHand := m.OwnerData[engine.FingerprintData], want.Credentials.Fingerprint()
	if noted == "" || noted == atHand {
		return nil
	}
	for _, certificate := range want.LXD.TrustedCertificates { // a rotation: the LXD was made to trust both
		if (engine.Credentials{Certificate: certificate}).Fingerprint() == noted {
			return nil
		}
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("machine %s was deployed to trust the client certificate %s, but the configured one is %s", m.Hostname, noted, atHand),
		Hint:    "Give the key pair of the deployment. If it is lost, release the machine and deploy it again.", Err: engine.ErrForbidden,
	}
}

// handOverCredentials gives MAAS the present credentials if the VM host was registered with
// others, and notes them on its machine. The caller must know that the LXD trusts them. Where MAAS
// has no VM hosts and nothing is noted, VMs of a moved VM host may have a former pair of the fleet.
func (h *stepBase) handOverCredentials(ctx context.Context, want engine.HostSpec, record engine.VMHost, m engine.Machine) (engine.Machine, error) {
	noted, atHand := m.OwnerData[engine.FingerprintData], want.Credentials.Fingerprint()
	if atHand == "" {
		return m, nil // the pair is unknown
	}
	if noted != atHand && (noted != "" || !record.MAASMakesVMs()) {
		if err := h.updateVMHost(ctx, record, engine.HostUpdate{Credentials: &want.Credentials}); err != nil {
			return m, err
		}
	}
	return h.Annotate(ctx, m, map[string]string{engine.FingerprintData: atHand})
}
