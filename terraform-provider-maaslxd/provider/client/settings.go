package client

import (
	"time"

	"github.com/maaslxd/maaslxd/engine/site"
)

// Settings are the values of the provider block and the environment.
type Settings struct {
	APIURL         string
	APIKey         string
	CACert         []byte // PEM
	Owner          string // empty: the owner beside the ledger
	Ledger         string // a path, the address of a service, MemoryLedger, or empty for the default
	LedgerAccess   LedgerAccess
	RequestTimeout time.Duration
	PollInterval   time.Duration
	Probe          string      // one of the probe constants
	OnUnfinished   string      // one of the unfinished constants
	Composer       site.Choice // empty: the default
	Key            KeySettings
	UserAgent      string
	IsUnknown      bool // a value depends on an object that does not exist yet
}

// missingAttributes names the settings that MAAS calls need and that are missing.
func (s Settings) missingAttributes() []string {
	var names []string
	if s.APIURL == "" {
		names = append(names, "api_url (MAAS_API_URL)")
	}
	if s.APIKey == "" {
		names = append(names, "api_key (MAAS_API_KEY)")
	}
	return names
}
