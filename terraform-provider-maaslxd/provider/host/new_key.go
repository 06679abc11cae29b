package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// otherFleetError refuses to make a pair beside VM hosts that trust another one: those
// of the state, and those of MAAS whose machines say so.
func otherFleetError(ctx context.Context, b *client.Backend, run *client.Run) error {
	trusts := func(host, fingerprint string) error {
		return &engine.Refusal{
			Message: fmt.Sprintf("there is no LXD client key pair here, and VM host %s trusts the certificate %s: a new pair would split the fleet", host, fingerprint),
			Hint: "Give the pair of the fleet as lxd_client_cert and lxd_client_key, restore it beside the ledger, or use the ledger beside which it was made. " +
				"If this is to be a fleet of its own, make a pair for it: docs/operations.md, \"In CI\", says how.",
			Err: engine.ErrForbidden,
		}
	}
	if host, fingerprint := run.TrustedCertificate(); fingerprint != "" {
		return trusts(host, fingerprint)
	}
	hosts, err := b.Inventory.Hosts(ctx)
	if errors.Is(err, engine.ErrGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot tell whether VM hosts trust another LXD client key pair: %w", err)
	}
	for _, h := range hosts {
		if h.MachineID == "" {
			continue
		}
		m, err := b.Machines.Machine(ctx, h.MachineID)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		if fingerprint := m.TrustedFingerprint(); fingerprint != "" {
			return trusts(h.Name, fingerprint)
		}
	}
	return nil
}

// warnNext tells, once in a run, that new hosts are made to trust a pair that lies
// beside the ledger: who put it there opens them.
func warnNext(r *client.Run, key *client.FleetKey, next []string, diags *diag.Diagnostics) {
	if len(next) == 0 || !r.Once("next pair") {
		return
	}
	file, _ := key.File(fleetkey.NextFile)
	diags.AddWarning("New VM hosts trust the next key pair, too", fmt.Sprintf(
		"They are made to trust %v, which %s holds, beside the pair of the fleet. If you did not put it there to change the pair, delete it, and make the hosts anew.",
		fingerprints(next...), file))
}
