package maas

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

const defaultInterval = 5 * time.Second

// Config is what a Client is made of. URL and APIKey are required.
type Config struct {
	// URL, APIKey, CACert, UserAgent, Timeout, MaxConns, Backoff, Transport, Log,
	// Called, Now and Rand are those of api.Config.
	URL       string
	APIKey    string
	CACert    []byte
	UserAgent string
	Timeout   time.Duration
	MaxConns  int
	Backoff   api.Backoff
	Transport http.RoundTripper
	Log       *slog.Logger
	OnCall    func(api.Call)
	Now       func() time.Time
	Rand      func() float64
	// Interval is the time between two looks of the poller; zero means 5 s.
	Interval time.Duration
	// Gather is how long a read of machines waits for others to join it, at least. Zero
	// suits readers who wait for each answer, as Terraform does. A manager with many
	// objects takes more, and makes fewer calls.
	Gather time.Duration
	// Ledger gives each inventory of the VM hosts its tag, which is read before the
	// hosts are. Nil: the hosts carry none, so that no VM can be placed by them.
	Ledger engine.InventoryTags
}

// apiConfig is what of it concerns the requests.
func (c Config) apiConfig() api.Config {
	return api.Config{
		URL: c.URL, APIKey: c.APIKey, CACert: c.CACert, UserAgent: c.UserAgent, Timeout: c.Timeout, MaxConns: c.MaxConns,
		Backoff: c.Backoff, Transport: c.Transport, Log: c.Log, OnCall: c.OnCall, Now: c.Now, Rand: c.Rand,
	}
}

func (c Config) withDefaults() Config {
	c.Interval = cmp.Or(c.Interval, defaultInterval)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Ledger == nil {
		c.Ledger = engine.NoLedger{}
	}
	return c
}
