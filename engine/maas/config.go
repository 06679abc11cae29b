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

// Config is what New needs. URL and APIKey are required.
type Config struct {
	// The fields from URL to Rand are those of api.Config.
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
	// Interval is the time between two polls of a watched machine; zero means 5 s.
	Interval time.Duration
	// Gather is the minimum time that a read of machines waits for other reads to join it.
	// Zero suits callers that wait for each answer, as Terraform does. With a longer time,
	// a manager with many objects makes fewer calls.
	Gather time.Duration
	// Ledger gives each inventory of the VM hosts its tag. The tag is read before the
	// hosts. If Ledger is nil, the hosts have no tag, and no VM can be placed on them.
	Ledger engine.InventoryTags
}

// apiConfig returns the part of the Config for package api.
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
