package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// unknownPair stands for the credentials of a host whose certificate nobody
// has told: they are not handed to anybody.
var unknownPair = engine.Credentials{Certificate: "unknown", Key: "unknown"}

// pairFor is the key pair by which a host of the state is managed. That which
// is at hand must be one that the host trusts.
func (b *backend) pairFor(state hostState) (engine.Credentials, error) {
	noted := state.Fingerprint.ValueString()
	if noted == "" && !state.VMHostID.IsNull() {
		return unknownPair, nil
	}
	key, err := b.key.load()
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return engine.Credentials{}, &engine.Refusal{
			Message: fmt.Sprintf("the LXD client key pair is lost: VM host %s trusts the certificate %s, and %v", state.Name.ValueString(), noted, err),
			Hint:    "Give the pair as lxd_client_cert and lxd_client_key, restore it from a backup, or use the ledger beside which it was made.",
			Err:     engine.ErrForbidden,
		}
	case err != nil:
		return engine.Credentials{}, err
	}
	if err := state.trustsKey(key); err != nil {
		return engine.Credentials{}, err
	}
	return key.Credentials, b.key.mayTravel()
}

// trustsKey refuses another key than those that the host trusts.
func (m hostState) trustsKey(key lxd.Key) error {
	noted := append(sortedStrings(m.TrustedFingerprints), m.Fingerprint.ValueString())
	slices.Sort(noted)
	return lxd.SameKey(key.Fingerprint, slices.Compact(noted)...)
}

// trusting notes what the host trusts from now on.
func (m *hostState) trusting(ctx context.Context, before hostState, spec engine.HostSpec, diags *diag.Diagnostics) {
	if !m.TrustedFingerprints.IsUnknown() {
		return
	}
	all := sortedStrings(before.TrustedFingerprints)
	for _, certificate := range slices.Concat([]string{spec.Credentials.Certificate}, spec.LXD.TrustedCertificates, m.trusted(ctx, diags)) {
		if fingerprint, err := lxd.Fingerprint(certificate); err == nil {
			all = append(all, fingerprint)
		}
	}
	slices.Sort(all)
	m.TrustedFingerprints = fingerprintSet(slices.Compact(all))
}
