package client

import (
	"time"

	"github.com/maaslxd/maaslxd/engine/site"
)

// Settings are the provider block and the environment, read and put together.
type Settings struct {
	APIURL         string
	APIKey         string
	CACert         []byte // PEM
	Owner          string // empty: the one that is kept beside the ledger
	Ledger         string // path, address of a service, MemoryLedger, or empty for the default
	LedgerAccess   LedgerAccess
	RequestTimeout time.Duration
	PollInterval   time.Duration
	Probe          string      // one of the probe constants
	OnUnfinished   string      // one of the unfinished constants
	Composer       site.Choice // empty: the default
	Key            KeySettings
	UserAgent      string
	IsUnknown      bool // a value depends on something that is not made yet
}

// missingAttributes names what is needed to call MAAS and is not there.
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
