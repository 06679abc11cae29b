package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/site"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// KeySettings are the configured key pair of the fleet, in PEM. If both are empty, the pair is
// beside the ledger.
type KeySettings struct {
	Certificate, PrivateKey string
	AllowInsecure           bool // allows sending the private key over plain http
}

// FleetKey is the client key pair of the fleet: the configured pair, or the pair beside the
// ledger.
type FleetKey struct {
	settings KeySettings
	ledger   *lazyLedger
	apiURL   string

	mu sync.Mutex // guards the creation
}

// isConfigured tells whether a pair is configured.
func (k *FleetKey) isConfigured() bool { return k.settings.Certificate != "" }

// Load returns the pair. It returns ErrNotFound if the pair has to be created first.
func (k *FleetKey) Load() (fleetkey.Key, error) {
	if k.isConfigured() {
		return fleetkey.Parse(k.settings.Certificate, k.settings.PrivateKey, time.Now())
	}
	file, err := k.PathBesideLedger(fleetkey.KeyFile)
	if err != nil {
		return fleetkey.Key{}, err
	}
	if file == "" {
		return fleetkey.Key{}, fmt.Errorf("%s: %w", k.MissingText(), engine.ErrNotFound)
	}
	return fleetkey.LoadFile(file, time.Now())
}

// MissingText says why there is no pair, after Load has returned ErrNotFound.
func (k *FleetKey) MissingText() string {
	if file, err := k.PathBesideLedger(fleetkey.KeyFile); err == nil && file != "" {
		return "the file " + file + " does not exist"
	}
	return "no client key pair is configured, and without a ledger file none can be kept beside it"
}

// LoadOrCreate returns the pair, and creates it if there is none. It refuses if the pair would
// not be kept.
func (k *FleetKey) LoadOrCreate(against func() error) (fleetkey.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := k.Load()
	if !errors.Is(err, engine.ErrNotFound) {
		return key, err
	}
	file, err := k.PathBesideLedger(fleetkey.KeyFile)
	if err == nil {
		err = AutomationError()
	}
	if err == nil && file != "" {
		err = against()
	}
	if err != nil {
		return fleetkey.Key{}, err
	}
	return fleetkey.LoadOrCreate(file, time.Now())
}

// automationVariable is the variable by which a CI job is known; empty: this is no CI job.
func automationVariable() string {
	for _, name := range []string{"CI", "TF_IN_AUTOMATION"} {
		if value := os.Getenv(name); value != "" && value != "0" && !strings.EqualFold(value, "false") {
			return name
		}
	}
	return ""
}

// AutomationError refuses to create a pair in a CI job: the job's home is deleted with it, and
// the hosts trust only that pair. Elsewhere it is nil.
func AutomationError() error {
	name := automationVariable()
	if name == "" {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("there is no key pair of the fleet, and none is made where %s is set: the pair would be lost with this job, and with it the VM hosts", name),
		Hint: "Give the pair of the fleet as lxd_client_cert and lxd_client_key (MAASLXD_LXD_CLIENT_CERT, MAASLXD_LXD_CLIENT_KEY), from the secrets of your CI. " +
			diagnostics.GuideURL("ci-runners", "the-key-pair-in-ci") + " says how to make one.",
		Err: engine.ErrInvalid,
	}
}

// NextCertificates are the certificates of the pair that follows: the file beside the ledger
// with that name.
func (k *FleetKey) NextCertificates() ([]string, error) {
	file, err := k.PathBesideLedger(fleetkey.NextKeyFile)
	if err != nil || file == "" || k.isConfigured() {
		return nil, err
	}
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil, nil
	}
	key, err := fleetkey.LoadFile(file, time.Now())
	if err != nil {
		return nil, err
	}
	return []string{key.Certificate}, nil
}

// PathBesideLedger is the path of a file beside the ledger. It is empty if the ledger is no
// file.
func (k *FleetKey) PathBesideLedger(name string) (string, error) {
	if !k.ledger.hasFile() {
		return "", nil
	}
	ledger, err := k.ledger.filePath()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(ledger), name), nil
}

// CheckTransport refuses to send the private key over a connection that others can read.
func (k *FleetKey) CheckTransport() error {
	return site.CheckKeyTransport(k.apiURL, k.settings.AllowInsecure)
}

// Credentials is the pair for calls of an LXD.
func (k *FleetKey) Credentials(context.Context) (engine.Credentials, error) {
	pair, err := k.Load()
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Credentials{}, &engine.Refusal{
			Message: fmt.Sprintf("the fleet's key pair is not here: %v", err),
			Hint: "VMs are made in LXD itself with the key pair that the hosts trust. Give it as lxd_client_cert and lxd_client_key, restore it beside " +
				"the ledger, or use the ledger that it was made beside. If there never was one, make it: " + diagnostics.GuideURL("migrating", "give-the-moved-vm-hosts-a-key-pair") + ".",
			Err: engine.ErrForbidden,
		}
	}
	return pair.Credentials, err
}
