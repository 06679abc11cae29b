package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// loadOrCreate returns the pair, and makes it if there is none. Without a
// lasting place for it that is refused.
func (k *fleetKey) loadOrCreate() (lxd.Key, error) {
	if k.given() {
		return k.load()
	}
	file, err := k.file(lxd.KeyFile)
	if err != nil {
		return lxd.Key{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return lxd.LoadOrCreate(file, time.Now())
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
