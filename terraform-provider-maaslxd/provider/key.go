package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/lxd"
	"github.com/maaslxd/maaslxd/engine/site"
)

// keySettings are the key pair of the fleet as it is configured, in PEM. Both
// empty: the one beside the ledger.
type keySettings struct {
	certificate, private string
	insecure             bool // the private key may be sent over plain http
}

// keySettings reads the attributes and the environment.
func (m providerModel) keySettings(diags *diag.Diagnostics) keySettings {
	read := func(v types.String, attribute, env string) string {
		pem, err := readPEM(fromEnv(v, env))
		if err != nil {
			// The path is not repeated: it may be a key that was cut short.
			diags.AddAttributeError(path.Root(attribute), "Cannot read the LXD client key pair", fmt.Sprintf(
				"%s (%s) is neither PEM text nor the path of a file that can be read.", attribute, env))
		}
		return string(pem)
	}
	k := keySettings{
		certificate: read(m.LXDClientCert, "lxd_client_cert", "MAASLXD_LXD_CLIENT_CERT"),
		private:     read(m.LXDClientKey, "lxd_client_key", "MAASLXD_LXD_CLIENT_KEY"),
		insecure:    m.AllowInsecure.ValueBool(),
	}
	if diags.HasError() || k.certificate == "" && k.private == "" {
		return k
	}
	if _, err := lxd.Parse(k.certificate, k.private, time.Now()); err != nil {
		for _, spec := range specErrors(err) {
			diags.AddAttributeError(path.Root(spec.Field), "The LXD client key pair cannot be used", explain(spec))
		}
	}
	return k
}

// fleetKey is the client key pair of the fleet: the configured one, or that
// beside the ledger.
type fleetKey struct {
	settings keySettings
	ledger   *lateLedger
	apiURL   string

	mu sync.Mutex // of the making
}

// given tells whether a pair is configured.
func (k *fleetKey) given() bool { return k.settings.certificate != "" }

// load returns the pair if there is one; ErrNotFound if one would have to be
// made.
func (k *fleetKey) load() (lxd.Key, error) {
	if k.given() {
		return lxd.Parse(k.settings.certificate, k.settings.private, time.Now())
	}
	file, err := k.file(lxd.KeyFile)
	if err != nil {
		return lxd.Key{}, err
	}
	if file == "" {
		return lxd.Key{}, fmt.Errorf("no client key pair is configured, and there is no ledger file beside which one could be: %w", engine.ErrNotFound)
	}
	return lxd.Load(file, time.Now())
}

// loadOrCreate returns the pair, and makes it if there is none and nothing is
// against it. Without a lasting place for it that is refused.
func (k *fleetKey) loadOrCreate(against func() error) (lxd.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := k.load()
	if !errors.Is(err, engine.ErrNotFound) {
		return key, err
	}
	file, err := k.file(lxd.KeyFile)
	if err == nil {
		err = inAutomation()
	}
	if err == nil && file != "" {
		err = against()
	}
	if err != nil {
		return lxd.Key{}, err
	}
	return lxd.LoadOrCreate(file, time.Now())
}

// inAutomation refuses to make a pair where nobody keeps it: the home of a CI job
// is thrown away with it, and the hosts trust what was in it.
func inAutomation() error {
	for _, name := range []string{"CI", "TF_IN_AUTOMATION"} {
		if value := os.Getenv(name); value != "" && value != "0" && !strings.EqualFold(value, "false") {
			return &engine.Refusal{
				Message: fmt.Sprintf("there is no LXD client key pair, and none is made where %s is set: it would be lost with this job, and the VM hosts with it", name),
				Hint: "Give the pair of the fleet as lxd_client_cert and lxd_client_key (MAASLXD_LXD_CLIENT_CERT, MAASLXD_LXD_CLIENT_KEY), from the secrets of your CI. " +
					"docs/operations.md, \"In CI\", says how to make one.",
				Err: engine.ErrInvalid,
			}
		}
	}
	return nil
}

// otherFleet refuses to make a pair beside VM hosts that trust another one: those
// of the state, and those of MAAS whose machines say so.
func (b *backend) otherFleet(ctx context.Context, run *planRun) error {
	trusts := func(host, fingerprint string) error {
		return &engine.Refusal{
			Message: fmt.Sprintf("there is no LXD client key pair here, and VM host %s trusts the certificate %s: a new pair would split the fleet", host, fingerprint),
			Hint: "Give the pair of the fleet as lxd_client_cert and lxd_client_key, restore it beside the ledger, or use the ledger beside which it was made. " +
				"If this is to be a fleet of its own, make a pair for it: docs/operations.md, \"In CI\", says how.",
			Err: engine.ErrForbidden,
		}
	}
	if host, fingerprint := run.fleetTrusts(); fingerprint != "" {
		return trusts(host, fingerprint)
	}
	hosts, err := b.composer.Hosts(ctx)
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
		m, err := b.machines.Machine(ctx, h.MachineID)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return err
		}
		if fingerprint := m.TrustedFingerprint(); fingerprint != "" {
			return trusts(h.Name, fingerprint)
		}
	}
	return nil
}

// next are the certificates that are to follow: that of the pair beside the
// ledger that is named so.
func (k *fleetKey) next() ([]string, error) {
	file, err := k.file(lxd.NextFile)
	if err != nil || file == "" || k.given() {
		return nil, err
	}
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil, nil
	}
	key, err := lxd.Load(file, time.Now())
	if err != nil {
		return nil, err
	}
	return []string{key.Certificate}, nil
}

// file is the path of a file beside the ledger, empty if that is in memory.
func (k *fleetKey) file(name string) (string, error) {
	if k.ledger.path == memoryLedger {
		return "", nil
	}
	ledger, err := k.ledger.file()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(ledger), name), nil
}

// mayTravel refuses to send the private key where anybody can read it.
func (k *fleetKey) mayTravel() error {
	return site.MayTravel(k.apiURL, k.settings.insecure)
}

// credentials is the pair for whoever asks an LXD.
func (k *fleetKey) credentials(context.Context) (engine.Credentials, error) {
	pair, err := k.load()
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Credentials{}, &engine.Refusal{
			Message: fmt.Sprintf("the LXD client key pair is not here: %v", err),
			Hint: "VMs are made in LXD itself with the pair by which the hosts know this fleet. Give it as lxd_client_cert and lxd_client_key, restore it " +
				"beside the ledger, or use the ledger beside which it was made.",
			Err: engine.ErrForbidden,
		}
	}
	return pair.Credentials, err
}
