package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// uncheckableCertificateError refuses a wanted certificate that nobody can check.
func uncheckableCertificateError(why string) error {
	return &engine.SpecError{
		Field: fieldpath.New("server_fingerprint"), Message: "the certificate of the LXD cannot be checked: " + why,
		Hint: `MAAS never checks it. Let this program ask the LXD (probe = "direct" or "auto"), or remove the fingerprint.`, Err: engine.ErrInvalid,
	}
}

// checkFormerCertificate refuses to deploy the machine of a host again for an LXD server with the
// certificate of the former one. LXD makes its key pair anew, so the new host would never be finished.
func (h *stepBase) checkFormerCertificate(ctx context.Context, ref engine.Ref, want engine.HostSpec) error {
	if ref.SystemID == "" || want.ServerFingerprint == "" || want.Address != "" || want.Machine.Adopt {
		return nil
	}
	m, err := h.Machines.Machine(ctx, ref.SystemID)
	if errors.Is(err, engine.ErrNotFound) { // the plan makes a host that is gone
		return nil
	}
	if err == nil && m.OwnerData[engine.ServerFingerprintData] == want.ServerFingerprint {
		err = &engine.SpecError{
			Field:   fieldpath.New("server_fingerprint"),
			Message: "the machine is deployed again, and its new LXD server does not have the certificate " + want.ServerFingerprint,
			Hint:    "Remove server_fingerprint. The certificate of the new LXD server is recorded at the first contact, and then you can name it.", Err: engine.ErrInvalid,
		}
	}
	return err
}

// pinnedFingerprint is the fingerprint of the certificate that the machine's LXD must show. It
// is the one in the spec, else the one of the first contact: from the machine's note, or from
// the caller's memory. Empty: the LXD was never seen.
func pinnedFingerprint(m engine.Machine, ref engine.Ref, demanded string) string {
	return cmp.Or(demanded, m.OwnerData[engine.ServerFingerprintData], ref.ServerFingerprint)
}

// probeLXD asks the LXD itself; nil if that is impossible from here.
func (h *stepBase) probeLXD(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, e engine.Endpoint) (*engine.LXDServer, error) {
	if h.Probe == nil {
		return nil, nil
	}
	server, err := h.Probe.Server(ctx, e, want.Credentials, pinnedFingerprint(m, ref, want.ServerFingerprint))
	if err != nil {
		return nil, nameHostInError(err, vmHostName(want, m))
	}
	return &server, nil
}

// nameHostInError names the host whose LXD showed the certificate of another server.
func nameHostInError(err error, host string) error {
	other, ok := errors.AsType[*engine.Error](err)
	if !ok || !errors.Is(err, engine.ErrOtherServer) || other.Host != "" {
		return err
	}
	named := *other
	named.Host = host
	return &named
}

// noteServer notes on our machine which certificate its LXD showed, before anybody else learns
// of it.
func (h *stepBase) noteServer(ctx context.Context, key engine.Key, m engine.Machine, server *engine.LXDServer) (engine.Machine, error) {
	if server == nil || server.Fingerprint == "" || engine.Key(m.OwnerData[engine.KeyData]) != key {
		return m, nil
	}
	return h.Annotate(ctx, m, engine.ServerNote(server.Fingerprint))
}

// checkServer asks the LXD of a registered host whether it is still the same server. It returns
// the fingerprint to note, empty if nobody knows it. If the LXD cannot be asked, the composer
// may have seen its certificate; MAAS does not check it.
func (h *stepBase) checkServer(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (string, error) {
	known := cmp.Or(pinnedFingerprint(m, ref, ""), record.ServerFingerprint)
	atHand := want.Credentials.Fingerprint()
	unproven := want.ServerFingerprint != "" && want.ServerFingerprint != m.OwnerData[engine.ServerFingerprintData]
	e, err := registeredEndpoint(ref, want, m)
	switch {
	case want.ServerFingerprint != "" && atHand == "":
		return "", &engine.SpecError{
			Field: fieldpath.New("server_fingerprint"), Message: "the certificate of the LXD cannot be checked: MAAS manages this VM host with a key pair of its own",
			Hint: "Remove the fingerprint. It is recorded at the first contact after MAAS's upgrade to the version without VM hosts.", Err: engine.ErrInvalid,
		}
	case unproven && err != nil:
		return "", fmt.Errorf("cannot ask the LXD of %s for its certificate: %w", vmHostName(want, m), err)
	case h.Probe == nil, atHand == "", err != nil:
		return known, nil
	}
	server, err := h.probeLXD(ctx, ref, want, m, e)
	noted := m.OwnerData[engine.FingerprintData]
	switch {
	case err == nil:
		return cmp.Or(server.Fingerprint, known), nil
	case ctx.Err() != nil, errors.Is(err, engine.ErrOtherServer):
		return "", err
	case errors.Is(err, engine.ErrForbidden) && noted != "" && noted != atHand: // MAAS would lose its access, too
		return "", untrustedError(want, e, err)
	case unproven:
		return "", fmt.Errorf("cannot check whether the LXD of %s shows the certificate %s: %w", vmHostName(want, m), want.ServerFingerprint, err)
	}
	h.Log.InfoContext(ctx, "cannot ask the LXD which certificate it shows", "address", e.Address, "error", err)
	return known, nil
}
