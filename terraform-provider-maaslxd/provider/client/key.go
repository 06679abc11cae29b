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
)

// KeySettings are the key pair of the fleet as it is configured, in PEM. Both
// empty: the one beside the ledger.
type KeySettings struct {
	Certificate, PrivateKey string
	AllowInsecure           bool // the private key may be sent over plain http
}

// FleetKey is the client key pair of the fleet: the configured one, or that
// beside the ledger.
type FleetKey struct {
	settings KeySettings
	ledger   *lazyLedger
	apiURL   string

	mu sync.Mutex // of the making
}

// isConfigured tells whether a pair is configured.
func (k *FleetKey) isConfigured() bool { return k.settings.Certificate != "" }

// Load returns the pair if there is one; ErrNotFound if one would have to be
// made.
func (k *FleetKey) Load() (fleetkey.Key, error) {
	if k.isConfigured() {
		return fleetkey.Parse(k.settings.Certificate, k.settings.PrivateKey, time.Now())
	}
	file, err := k.PathBesideLedger(fleetkey.KeyFile)
	if err != nil {
		return fleetkey.Key{}, err
	}
	if file == "" {
		return fleetkey.Key{}, fmt.Errorf("no client key pair is configured, and there is no ledger file beside which one could be: %w", engine.ErrNotFound)
	}
	return fleetkey.LoadFile(file, time.Now())
}

// LoadOrCreate returns the pair, and makes it if there is none and nothing is
// against it. Without a lasting place for it that is refused.
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

// AutomationError says why no pair is made where nobody keeps it: the home of a CI job
// is thrown away with it, and the hosts trust what was in it. Elsewhere it is nil.
func AutomationError() error {
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

// NextCertificates are the certificates that are to follow: that of the pair beside the
// ledger that is named so.
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

// PathBesideLedger is the path of a file beside the ledger, empty if that is no file.
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

// CheckTransport refuses to send the private key where anybody can read it.
func (k *FleetKey) CheckTransport() error {
	return site.CheckKeyTransport(k.apiURL, k.settings.AllowInsecure)
}

// credentials is the pair for whoever asks an LXD.
func (k *FleetKey) credentials(context.Context) (engine.Credentials, error) {
	pair, err := k.Load()
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
