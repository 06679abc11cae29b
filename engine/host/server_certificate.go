package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// uncheckableCertificateError refuses to demand a certificate that nobody looks at.
func uncheckableCertificateError(why string) error {
	return &engine.SpecError{
		Field: fieldpath.New("server_fingerprint"), Message: "the certificate of the LXD cannot be checked: " + why,
		Hint: `MAAS never looks at it. Let the LXD be asked from here (probe = "direct" or "auto"), or leave the fingerprint out.`, Err: engine.ErrInvalid,
	}
}

// pinnedFingerprint is the fingerprint of the certificate that the machine's LXD must show:
// the one that is demanded, else the one that it was first seen with, as the
// machine says or else the caller remembers. Empty: it was never seen.
func pinnedFingerprint(m engine.Machine, ref engine.Ref, demanded string) string {
	return cmp.Or(demanded, m.OwnerData[engine.ServerFingerprintData], ref.ServerFingerprint)
}

// probeLXD asks the LXD itself; nil where that cannot be done from here.
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

// nameHostInError names the host whose LXD another server stands in for.
func nameHostInError(err error, host string) error {
	other, ok := errors.AsType[*engine.Error](err)
	if !ok || !errors.Is(err, engine.ErrOtherServer) || other.Host != "" {
		return err
	}
	named := *other
	named.Host = host
	return &named
}

// noteServer writes on our machine which certificate its LXD was seen with,
// before anybody else is told of it.
func (h *stepBase) noteServer(ctx context.Context, key engine.Key, m engine.Machine, server *engine.LXDServer) (engine.Machine, error) {
	if server == nil || server.Fingerprint == "" || engine.Key(m.OwnerData[engine.KeyData]) != key {
		return m, nil
	}
	return h.Annotate(ctx, m, engine.ServerNote(server.Fingerprint))
}

// checkServer asks the LXD of a registered host whether it is still the one that
// it was, and returns the fingerprint to be noted, empty if nobody knows it.
// Where the LXD cannot be asked, what makes the VMs may have seen its certificate;
// MAAS does not look at it.
func (h *stepBase) checkServer(ctx context.Context, ref engine.Ref, want engine.HostSpec, m engine.Machine, record engine.VMHost) (string, error) {
	known := cmp.Or(pinnedFingerprint(m, ref, ""), record.ServerFingerprint)
	atHand := want.Credentials.Fingerprint()
	unproven := want.ServerFingerprint != "" && want.ServerFingerprint != m.OwnerData[engine.ServerFingerprintData]
	e, err := endpointOf(want, m)
	switch {
	case want.ServerFingerprint != "" && atHand == "":
		return "", uncheckableCertificateError("nobody has told by which client certificate the host is managed")
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
	case errors.Is(err, engine.ErrForbidden) && noted != "" && noted != atHand: // MAAS would be locked out with it
		return "", untrustedError(want, e, err)
	case unproven:
		return "", fmt.Errorf("cannot tell whether the LXD of %s shows the certificate %s: %w", vmHostName(want, m), want.ServerFingerprint, err)
	}
	h.Log.InfoContext(ctx, "cannot ask the LXD which certificate it shows", "address", e.Address, "error", err)
	return known, nil
}
