package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
)

// serverData is the owner data by which a host's machine says which certificate
// its LXD was first seen with. A release clears it: what is deployed anew has
// another one.
const serverData = "maaslxd-server-fingerprint"

// ServerNote is the owner data of a machine whose LXD showed this certificate.
func ServerNote(fingerprint string) map[string]string {
	return map[string]string{serverData: fingerprint}
}

var fingerprintForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsFingerprint reports whether a text is a SHA-256 as LXD writes it: 64 hex
// digits in small letters.
func IsFingerprint(s string) bool { return fingerprintForm.MatchString(s) }

func (s HostSpec) validateServer() error {
	if s.ServerFingerprint == "" || IsFingerprint(s.ServerFingerprint) {
		return nil
	}
	return &SpecError{
		Field: "server_fingerprint", Message: fmt.Sprintf("%q is no fingerprint", s.ServerFingerprint),
		Hint: "Write the 64 hex digits, in small letters and without colons, that `lxc info` says on the host as certificate_fingerprint.", Err: ErrInvalid,
	}
}

// unprovable refuses to demand a certificate that nobody looks at.
func unprovable(why string) error {
	return &SpecError{
		Field: "server_fingerprint", Message: "the certificate of the LXD cannot be checked: " + why,
		Hint: `MAAS never looks at it. Let the LXD be asked from here (probe = "direct" or "auto"), or leave the fingerprint out.`, Err: ErrInvalid,
	}
}

// pinned is the fingerprint of the certificate that the machine's LXD must show:
// the one that is demanded, else the one that it was first seen with, as the
// machine says or else the caller remembers. Empty: it was never seen.
func (m Machine) pinned(ref Ref, demanded string) string {
	return cmp.Or(demanded, m.OwnerData[serverData], ref.ServerFingerprint)
}

// probe asks the LXD itself; nil where that cannot be done from here.
func (h *hosts) probe(ctx context.Context, ref Ref, want HostSpec, m Machine, e Endpoint) (*LXDServer, error) {
	if h.Probe == nil {
		return nil, nil
	}
	server, err := h.Probe.Server(ctx, e, want.Credentials, m.pinned(ref, want.ServerFingerprint))
	if err != nil {
		return nil, onHost(err, want.name(m))
	}
	return &server, nil
}

// onHost names the host whose LXD another server stands in for.
func onHost(err error, host string) error {
	other, ok := errors.AsType[*Error](err)
	if !ok || !errors.Is(err, ErrOtherServer) || other.Host != "" {
		return err
	}
	named := *other
	named.Host = host
	return &named
}

// noteServer writes on our machine which certificate its LXD was seen with,
// before anybody else is told of it.
func (h *hosts) noteServer(ctx context.Context, key Key, m Machine, server *LXDServer) (Machine, error) {
	if server == nil || server.Fingerprint == "" || Key(m.OwnerData[keyData]) != key {
		return m, nil
	}
	return h.annotate(ctx, m, ServerNote(server.Fingerprint))
}

// recognize asks the LXD of a registered host whether it is still the one that
// it was, and returns the fingerprint to be noted, empty if nobody knows it.
// Where the LXD cannot be asked, what makes the VMs may have seen its certificate;
// MAAS does not look at it.
func (h *hosts) recognize(ctx context.Context, ref Ref, want HostSpec, m Machine, record VMHost) (string, error) {
	known := cmp.Or(m.pinned(ref, ""), record.ServerFingerprint)
	atHand := want.Credentials.Fingerprint()
	unproven := want.ServerFingerprint != "" && want.ServerFingerprint != m.OwnerData[serverData]
	e, err := want.endpoint(m)
	switch {
	case want.ServerFingerprint != "" && atHand == "":
		return "", unprovable("nobody has told by which client certificate the host is managed")
	case unproven && err != nil:
		return "", fmt.Errorf("cannot ask the LXD of %s for its certificate: %w", want.name(m), err)
	case h.Probe == nil, atHand == "", err != nil:
		return known, nil
	}
	server, err := h.probe(ctx, ref, want, m, e)
	noted := m.OwnerData[fingerprintData]
	switch {
	case err == nil:
		return cmp.Or(server.Fingerprint, known), nil
	case ctx.Err() != nil, errors.Is(err, ErrOtherServer):
		return "", err
	case errors.Is(err, ErrForbidden) && noted != "" && noted != atHand: // MAAS would be locked out with it
		return "", want.untrusted(e, err)
	case unproven:
		return "", fmt.Errorf("cannot tell whether the LXD of %s shows the certificate %s: %w", want.name(m), want.ServerFingerprint, err)
	}
	h.Log.InfoContext(ctx, "cannot ask the LXD which certificate it shows", "address", e.Address, "error", err)
	return known, nil
}
