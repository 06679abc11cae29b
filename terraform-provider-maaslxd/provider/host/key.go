package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// unknownKeyPair replaces the credentials of a host whose certificate nobody knows. It goes to
// nobody.
var unknownKeyPair = engine.Credentials{Certificate: "unknown", Key: "unknown"}

// keyPairFor is the key pair for a host of the state. The host must trust it, or the plan must
// list its certificate.
func keyPairFor(b *client.Backend, state hostModel, listed []string) (engine.Credentials, error) {
	noted := state.Fingerprint.ValueString()
	if noted == "" && !state.VMHostID.IsNull() {
		return unknownKeyPair, nil
	}
	key, err := b.Key.Load()
	switch {
	case errors.Is(err, engine.ErrNotFound) && state.trustedCertificate().Fingerprint == "":
		return engine.Credentials{}, &engine.Refusal{
			Message: fmt.Sprintf("VM host %s was moved or imported, and has no key pair of the fleet yet: %s", state.Name.ValueString(), b.Key.MissingText()),
			Hint:    "Give it one. " + diagnostics.GuideURL("migrating", "give-the-moved-vm-hosts-a-key-pair") + " says how.",
			Err:     engine.ErrForbidden,
		}
	case errors.Is(err, engine.ErrNotFound):
		return engine.Credentials{}, &engine.Refusal{
			Message: fmt.Sprintf("the fleet's key pair is not here: VM host %s trusts the certificate %s, but %s", state.Name.ValueString(), state.trustedCertificate().Fingerprint, b.Key.MissingText()),
			Hint: "Give the pair as lxd_client_cert and lxd_client_key, restore it from a backup, or use the ledger that it was made beside. If it is " +
				"gone for good, make another one, let the host trust it (lxc config trust add FILE --restricted --projects PROJECT), and list its certificate in lxd.trusted_certificates.",
			Err: engine.ErrForbidden,
		}
	case err != nil:
		return engine.Credentials{}, err
	}
	if err := state.checkTrustsKey(key, listed...); err != nil {
		return engine.Credentials{}, err
	}
	return key.Credentials, b.Key.CheckTransport()
}

// checkTrustsKey refuses a key that the host does not trust. The host trusts the keys in its
// state, and those of the list of certificates, which its operator has added.
func (m hostModel) checkTrustsKey(key fleetkey.Key, listed ...string) error {
	if slices.Contains(fingerprintsOf(listed...), key.Fingerprint) {
		return nil
	}
	noted := append(values.SortedStrings(m.TrustedFingerprints), m.Fingerprint.ValueString())
	slices.Sort(noted)
	return fleetkey.CheckSameKey(key.Fingerprint, slices.Compact(noted)...)
}

// trustedCertificate is a certificate that the host trusts. A moved or imported host has none of its
// own, and trusts those that its operator has listed.
func (m hostModel) trustedCertificate() client.TrustedCertificate {
	c := client.TrustedCertificate{Host: m.Name.ValueString(), Fingerprint: m.Fingerprint.ValueString()}
	if listed := values.SortedStrings(m.TrustedFingerprints); c.Fingerprint == "" && len(listed) > 0 {
		c.Fingerprint, c.IsOnlyListed = listed[0], true
	}
	return c
}

// keyExpiryNotice is how long before the end of a pair the warnings begin. To change the pair,
// you must tell each host.
const keyExpiryNotice = 60 * 24 * time.Hour

// warnExpiry warns of a pair that expires soon. The text is the same for all hosts, so that
// Terraform shows it once. A pair that does not exist yet has no end.
func warnExpiry(key fleetkey.Key, diags *diag.Diagnostics) {
	if key.NotAfter.IsZero() || time.Until(key.NotAfter) > keyExpiryNotice {
		return
	}
	diags.AddWarning("The fleet's key pair expires soon", fmt.Sprintf(
		"%s expires on %s. From then on no LXD accepts MAAS or this provider, and the hosts cannot be managed. Change the pair before that: see lxd_client_cert of the provider.", key.Fingerprint, key.NotAfter.UTC().Format(time.DateOnly)))
}

// hasNoTrustedFingerprint tells whether no deployment has begun that could have brought a
// certificate.
func (m hostModel) hasNoTrustedFingerprint() bool { return len(m.TrustedFingerprints.Elements()) == 0 }

// fillTrustedFingerprints records the certificates that the host trusts from now on: the
// former ones, those of its deployment, and those that its operator lists.
func (m *hostModel) fillTrustedFingerprints(ctx context.Context, before hostModel, spec engine.HostSpec, h engine.Host, diags *diag.Diagnostics) {
	if !m.TrustedFingerprints.IsUnknown() {
		return
	}
	all := append(values.SortedStrings(before.TrustedFingerprints), fingerprintsDeployedWith(spec, h)...)
	if !isNotDeployedYet(h) {
		all = append(all, fingerprintsOf(m.trustedCertificates(ctx, diags)...)...)
	}
	slices.Sort(all)
	m.TrustedFingerprints = fingerprintSet(slices.Compact(all))
}

// fillDeployedFingerprints records the certificates that a deployment of this run brings to an
// unfinished host.
func (m *hostModel) fillDeployedFingerprints(n privateState, spec engine.HostSpec, h engine.Host) {
	if n.Pending && !n.Foreign && m.hasNoTrustedFingerprint() {
		m.TrustedFingerprints = fingerprintSet(fingerprintsDeployedWith(spec, h))
	}
}

// fingerprintsDeployedWith are the fingerprints of the certificates that the host was deployed
// with, sorted; none before its deployment. If the machine notes another one than that at
// hand, another run deployed it, and its note counts.
func fingerprintsDeployedWith(spec engine.HostSpec, h engine.Host) []string {
	switch atHand := spec.Credentials.Fingerprint(); {
	case isNotDeployedYet(h):
		return nil
	case h.Fingerprint != "" && h.Fingerprint != atHand:
		return []string{h.Fingerprint}
	}
	all := fingerprintsOf(append([]string{spec.Credentials.Certificate}, spec.LXD.TrustedCertificates...)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// isNotDeployedYet tells whether the machine has still to be deployed.
func isNotDeployedYet(h engine.Host) bool {
	phase := h.Machine.Status.Phase()
	return phase == engine.PhaseReady || phase == engine.PhaseAllocated
}

// fingerprintsOf are the fingerprints of the certificates. A text that is no certificate has
// none.
func fingerprintsOf(certificates ...string) []string {
	var all []string
	for _, certificate := range certificates {
		if fingerprint, err := fleetkey.Fingerprint(certificate); err == nil {
			all = append(all, fingerprint)
		}
	}
	return all
}

// otherFleetError refuses to create a pair beside VM hosts that trust another one. These are
// those of the state, but for the host that the pair is for, and those whose machines in MAAS note a
// certificate.
func otherFleetError(ctx context.Context, b *client.Backend, run *client.Run, name string) error {
	trusts := func(host, fingerprint string) error {
		return &engine.Refusal{
			Message: fmt.Sprintf("there is no key pair of the fleet here, and VM host %s trusts the certificate %s: a new pair would split the fleet", host, fingerprint),
			Hint: "Give the pair of the fleet as lxd_client_cert and lxd_client_key, restore it beside the ledger, or use the ledger beside which it was made. " +
				"If this is to be a fleet of its own, make a pair for it. " + diagnostics.GuideURL("ci-runners", "the-key-pair-in-ci") + " says how.",
			Err: engine.ErrForbidden,
		}
	}
	if c := run.CertificateTrustedBeside(name); c.Fingerprint != "" {
		return trusts(c.Host, c.Fingerprint)
	}
	hosts, err := b.Inventory.Hosts(ctx)
	if errors.Is(err, engine.ErrGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot find out whether VM hosts trust another key pair: %w", err)
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
		// A moved or imported host notes none, but the state may list one.
		if m.MarkedBy() != "" && run.HostNames.IsPlanned(ctx, m.SystemID) {
			if c := run.CertificateTrustedBeside(name); c.Fingerprint != "" {
				return trusts(c.Host, c.Fingerprint)
			}
		}
	}
	return nil
}

// warnOtherPair warns, once in a run, of a new host that would trust a pair which no VM host of this MAAS
// notes. In a CI job, two secrets are easily mixed up.
func (p *hostPlan) warnOtherPair(ctx context.Context, b *client.Backend, fingerprint string) {
	if p.state != nil || fingerprint == "" || !p.run.WantsPlanCheck(false) || !p.run.ClaimWarning("check for another pair") {
		return
	}
	look, cancel := context.WithTimeout(ctx, client.PlanCheckTimeout)
	defer cancel()
	machines, err := b.Machines.MachinesWhere(look, engine.MachineFilter{Tags: []string{engine.HostTag}})
	if err != nil {
		return // other checks say that MAAS does not answer
	}
	var other engine.Machine
	for _, m := range machines {
		switch m.TrustedFingerprint() {
		case fingerprint:
			return
		case "":
		default:
			other = m
		}
	}
	if other.SystemID != "" {
		p.diags.AddWarning("The VM hosts of this MAAS trust another key pair", fmt.Sprintf(
			"The VM host on machine %s trusts the certificate %s, and the pair at hand is %s. Two pairs split the fleet: then nobody can manage all VM hosts with one of them.\n\n"+
				"Give the fleet's key pair as lxd_client_cert and lxd_client_key. If these VM hosts are a fleet of their own, or if you are changing the pair, go on.",
			other.Hostname, other.TrustedFingerprint(), fingerprint))
	}
}

// warnNextKeyPair warns, once in a run, that new hosts also trust the next pair beside the
// ledger. The owner of that pair gets access to them.
func warnNextKeyPair(r *client.Run, key *client.FleetKey, next []string, diags *diag.Diagnostics) {
	if len(next) == 0 || !r.ClaimWarning("next pair") {
		return
	}
	file, _ := key.PathBesideLedger(fleetkey.NextKeyFile)
	diags.AddWarning("New VM hosts trust the next key pair, too", fmt.Sprintf(
		"They trust %v from %s, beside the pair of the fleet. If you did not put it there to change the pair, delete it, and replace the hosts.",
		fingerprintsOf(next...), file))
}
